// ReplayCode: a plan flattened for replay: one tight array of operations, with
// control flow as jumps, over a table of addresses.
//
// Built once per plan when an executable is loaded, then shared and immutable.
// Each Frame has its own address table with this layout. What a slot's address
// must be written to when it changes is precomputed here, so that binding costs
// what is used and replaying looks nothing up.
//
// Operations on devices with queues (device.h) are enqueued. What must come
// after what is there as operations, too: an event is recorded behind whoever
// is waited for, and queues and the host wait for events; queue_planner.h puts
// them in. Where no device has queues there are none of these.
#ifndef ENCORE_RUNTIME_REPLAY_REPLAY_CODE_H_
#define ENCORE_RUNTIME_REPLAY_REPLAY_CODE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "encore/ir/types/dim.h"
#include "encore/runtime/device/decider.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

struct ReplayOp {
  enum class Code : uint8_t {
    kEnd,
    kLaunch,       // kernel; buffers at entry a; args at b
    kCopyHost,     // entry a (dst) = entry a + 1 (src)
    kCopyIn,       // the same through `copier`: host to pool,
    kCopyOut,      //   pool to host,
    kCopyWithin,   //   within the pool,
    kCopyPeer,     //   from the pool of peers[c]
    kDecide,       // decision c; its entries from a, its args from b
    kCopyObject,   // host objects
    kMoveObject,   // the same; moved[c] is left empty
    kAllocate,     // slot a, pool b, bytes in args at c
    kDeallocate,   // slot a, pool b
    kReadSymbol,   // symbol a from entry b
    kSelect,       // to targets[b + selector at entry a], c targets
    kJumpIfFalse,  // to op b unless the selector at entry a is true
    kJump,         // to op b
    kLoopStart,    // loop a
    kLoopTest,     // loop a: to op b when its trips are done, else set elements
    kLoopNext,     // loop a: count, to op b
    kRecord,       // event a in `queue`
    kWait,         // `queue` waits for event a
    kHostWait,     // the host waits for event a
    kStretch,      // stretch a by its recording, then to op b; or nothing
  };
  Code code = Code::kEnd;
  DType selector_type = DType::kBool;
  uint16_t queue = 0;  // index into ReplayCode::queues; 0: done by the host
  uint32_t step = 0;   // index into ReplayCode::steps
  uint32_t a = 0, b = 0, c = 0;
  // 1 + the number of the staging buffer that stands for the host's side of
  // kCopyIn and kCopyOut, or for the entry that kReadSymbol, kSelect and
  // kJumpIfFalse read; 0: none.
  uint32_t staging = 0;
  const Kernel* kernel = nullptr;
  Device* copier = nullptr;
};

struct ReplayCode {
  // A step of the graph: what faults and profiles name.
  struct StepRef {
    PlanId plan;
    uint32_t step = 0;
  };
  struct Loop {
    uint32_t trips_arg = 0;
    std::vector<Invoke::StackedOperand> scanned;
  };
  // Flat lists per slot: of slot s, items[begin[s]] up to items[begin[s + 1]].
  struct PerSlot {
    std::vector<uint32_t> begin, items;
    std::span<const uint32_t> operator[](SlotId slot) const {
      const uint32_t first = begin[slot.value()];
      return {items.data() + first, begin[slot.value() + 1] - first};
    }
  };

  // Operations in a row that one device does in its queues, and the host only
  // enqueues.
  struct Stretch {
    // A launch or copy, with how many entries from `a` and args from `b` it
    // has.
    struct Work {
      uint32_t op = 0, entries = 0, args = 0;
    };
    uint32_t begin = 0, end = 0;  // of the operations
    DeviceId device;
    uint16_t origin = 0;             // the queue that a recording runs in
    std::vector<uint16_t> others;    // that the stretch uses
    std::vector<uint16_t> joined;    // those of them that are used elsewhere
    std::vector<Work> works;         // in the order of the operations
    std::vector<uint32_t> recorded;  // events that it records
    // Events that it waits for and others record; that it records and others
    // wait for.
    std::vector<uint32_t> before, behind;
    bool whole = false;  // whether there is nothing else to do
  };

  // Control flow over work of one device that decides (decider.h): one
  // operation in one of its queues. The host decides where it is not recorded.
  struct Decision {
    InvokeKind kind = InvokeKind::kIf;  // or kWhile
    Decider* decider = nullptr;
    uint32_t selector = 0;           // entry of a bool
    uint32_t staging = 0;            // where the host reads it, as ReplayOp's
    uint32_t entries = 0, args = 0;  // how many, of the bodies' too
    // Launches, copies within the pool and decisions: of kIf what is done where
    // the selector is 0 and 1, of kWhile what makes the selector, and a trip.
    std::vector<std::vector<ReplayOp>> bodies;
  };

  // Host memory of the frame's own: as large as a slot in a device's pool.
  struct Staging {
    DeviceId device;
    SlotId slot;
  };

  std::vector<ReplayOp> ops;
  std::vector<StepRef> steps;
  std::vector<SlotId> entries;    // slot of each entry of the address table
  std::vector<Dim> args;          // what each arg is computed from
  std::vector<uint32_t> targets;  // of kSelect
  std::vector<Loop> loops;
  std::vector<SlotId> moved;  // host objects that kMoveObject leaves empty
  std::vector<Staging> staging;
  std::vector<Device*> peers;    // that kCopyPeer copies from
  std::vector<DeviceId> queues;  // queue 0 is none, of no device
  std::vector<DeviceId> events;  // the device that records it
  std::vector<Decision> decisions;
  std::vector<Stretch> stretches;
  // Whether the host itself reads or writes memory of slots, so that it has to
  // wait for whoever made the inputs.
  bool host_works = false;
  PerSlot uses;  // entries that hold the slot's address
  // Of a slot with storage: itself and what lies in it, but for the elements of
  // scans, which lie somewhere else in each trip and nowhere without trips.
  PerSlot members;
  // Slots with storage of the frame's own that lasts: arenas and Allocate steps
  // of sizes known when inputs are bound.
  std::vector<SlotId> owned;
  // Slots whose size and offset matter here.
  std::vector<SlotId> slots;
  // What is computed from a run-time symbol. What is computed from several is
  // whole once the last of them is read: before, it may be no number at all.
  template <typename Id>
  struct Dependent {
    Id id;
    bool whole;
  };
  struct Dependents {
    std::vector<Dependent<SlotId>> slots;
    std::vector<Dependent<uint32_t>> args;
  };
  std::vector<Dependents> dependents;  // by symbol
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_REPLAY_CODE_H_
