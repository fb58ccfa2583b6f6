// Frame: the state of one replay of a ReplayCode: addresses, sizes, symbols'
// values, memory of its own; and the loop that runs the operations.
//
// Replayer and Weights are made of it; they check what callers give. A frame
// belongs to one thread at a time; frames of one code run at once.
#ifndef ENCORE_RUNTIME_REPLAY_FRAME_H_
#define ENCORE_RUNTIME_REPLAY_FRAME_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/device/warm_pool.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/frame_queues.h"
#include "encore/runtime/replay/frame_recordings.h"
#include "encore/runtime/replay/host_object.h"
#include "encore/runtime/replay/nvtx.h"
#include "encore/runtime/replay/profiler.h"
#include "encore/runtime/replay/replay_code.h"

namespace encore::runtime {

class Frame {
 public:
  // All arguments outlive the frame.
  Frame(const CompiledGraph& graph, const ReplayCode& code,
        std::span<const std::shared_ptr<Device>> devices, ThreadPool* threads);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  // Makes the devices' queues; to be called once, first.
  Status Init() { return queues_.Init(); }

  // Values of the symbols; the caller writes those of input dims.
  std::span<int64_t> symbols() { return symbols_; }

  // Evaluates every size under the symbols and makes memory of the frame's own.
  // Before the first Run and whenever a symbol has another value.
  // InvalidArgument where a size makes no sense under these values.
  Status Resize();

  // Sets where the storage of `slot` (which has its own) is.
  void SetAddress(SlotId slot, void* address);
  void* address(SlotId slot) const { return addresses_[slot.value()]; }
  int64_t bytes(SlotId slot) const { return bytes_[slot.value()]; }

  // Lets the Allocate of an output of run-time size take this buffer; null: the
  // frame's own memory, valid until the next Run.
  void SetRunTimeBuffer(SlotId slot, void* data, int64_t capacity) {
    if (!offered_.empty()) offered_[slot.value()] = {data, capacity, true};
  }

  // Runs all steps; when it returns nothing runs any more. An error names the
  // step. REQUIRES Resize, and an address for every external slot. `profiler`
  // may be null.
  Status Run(Profiler* profiler);

  // The same without waiting for the end: after what is in `caller`, a queue of
  // device `id`, and before what comes into it later.
  Status Enqueue(DeviceId id, Queue& caller);
  // Waits for what was enqueued. Its first fault, which names the step.
  Status Synchronize();
  // Whether there may be work that nothing has waited for.
  bool in_flight() const { return queues_.in_flight(); }

  // Lets the loop that runs, or the next, end before its next step with
  // Cancelled. From any thread.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }

  // Whether that is still to come.
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  // The step at which the last Run failed; nothing where it did not.
  const std::optional<ReplayCode::StepRef>& fault() const { return fault_; }
  // Which of the step's origins failed; nothing where its kernel did not say.
  std::optional<uint32_t> failed_origin() const;

  // Times that memory for an Allocate of run-time size came from a device.
  int64_t warm_pool_misses() const;
  // Bytes of memory that the frame owns and keeps.
  int64_t owned_bytes() const;
  RecordingCounts recordings() const { return recordings_.counts(); }

 private:
  struct Block {
    void* data = nullptr;
    int64_t bytes = 0;
    bool external = false;
  };

  template <bool kProfiled, bool kQueued, bool kNamed = false>
  Status Loop(Profiler* profiler);
  Status LoopQueued();
  // For a profiler that is attached: the names of steps, stretches and replays.
  void NameSteps();
  // Of the range that an operation is; null for none.
  Nvtx::Name NameOf(const ReplayOp& op) const;
  // In `caller` alone; false where that cannot be.
  StatusOr<bool> EnqueueDirectly(DeviceId id, Queue& caller);
  // Anything but a launch; an error names the step.
  Status Execute(const ReplayOp& op, uint32_t* next);
  Status Perform(const ReplayOp& op, uint32_t* next);
  Status RunStretch(const ReplayOp& op, bool one_by_one, uint32_t* next);
  FrameRecordings::Values values() const {
    return {table_, sizes_, args_, symbols_, version_};
  }
  // A launch or a copy, in `queue`; an error names the step.
  Status Submit(const ReplayOp& op, Queue& queue);
  Status SubmitWork(const ReplayOp& op, Queue& queue);
  Status Copy(const ReplayOp& op, Queue* queue);
  // kDecide: decided by the host, or recorded for the device to decide. As deep
  // as plans are, which are checked.
  Status Decide(const ReplayOp& op, Queue& queue);
  Status RunBody(const std::vector<ReplayOp>& body, Queue& queue);
  Status RecordDecision(const ReplayOp& op, Queue& queue);
  Status RecordBody(const std::vector<ReplayOp>& body, Queue& queue);
  Status AllocateRunTime(const ReplayOp& op);
  void DeallocateRunTime(SlotId slot, PoolId pool);
  Status ReadSymbol(const ReplayOp& op);
  StatusOr<int64_t> ReadSelector(const ReplayOp& op);
  // Where the host reads what lies at `entry`.
  StatusOr<const void*> HostAddress(const ReplayOp& op, uint32_t entry);
  Status StartLoop(const ReplayOp& op);
  void SetElements(const ReplayCode::Loop& loop, int64_t trip);
  Status Select(const ReplayOp& op, uint32_t* next);
  // Around what goes through a queue, under a profiler; nanoseconds by the
  // device's clock, -1 where it has none.
  Status StartTimer(const ReplayOp& op);
  StatusOr<int64_t> StopTimer(const ReplayOp& op);
  Status Fault(uint32_t step, const Status& status);
  // Of work in a queue: `step` is where it was seen, UINT32_MAX at none.
  Status QueueFault(uint32_t step, const Status& status);

  // One that is not `whole` may have no value yet, and is 0 then.
  Status EvaluateSlot(SlotId slot, bool whole);
  Status EvaluateArg(uint32_t arg, bool whole);
  // Writes to an entry of the table.
  void SetEntry(uint32_t entry, void* address) {
    if (table_[entry] != address) ++version_;
    table_[entry] = address;
  }
  Status AllocateOwned();
  // Whether everything in the storage of `slot` lies within its bytes.
  Status CheckMembers(SlotId slot) const;
  Device* PoolDevice(PoolId pool) const;

  const CompiledGraph& graph_;
  const ReplayCode& code_;
  std::span<const std::shared_ptr<Device>> devices_;
  ThreadPool* threads_;

  // Per entry of the code's table.
  std::vector<void*> table_;
  std::vector<int64_t> sizes_;
  std::vector<int64_t> args_;
  std::vector<int64_t> symbols_;
  // Per slot: size, offset into its storage, address.
  std::vector<int64_t> bytes_, offsets_;
  std::vector<void*> addresses_;
  std::vector<int64_t> trips_;  // per loop: trips done

  std::vector<std::unique_ptr<HostObject>> objects_;
  std::vector<Literal> empty_;   // as code_.moved: what is left there
  std::vector<Block> owned_;     // as code_.owned
  std::vector<Block> run_time_;  // per slot; sized only where there are any
  std::vector<Block> offered_;   // the same: the caller's buffers
  std::vector<std::unique_ptr<WarmPool>> warm_pools_;  // per pool
  // Another one whenever an address, a size or an arg is another.
  uint64_t version_ = 1;
  FrameQueues queues_;
  FrameRecordings recordings_;
  const Nvtx* const nvtx_ = Nvtx::Attached();
  // Empty where none is attached: per step, per stretch, of a replay.
  std::vector<Nvtx::Name> step_names_, stretch_names_;
  Nvtx::Name replay_name_ = nullptr;
  std::atomic<bool> cancelled_ = false;
  std::optional<ReplayCode::StepRef> fault_;
  uint32_t failed_origin_ = UINT32_MAX;  // as LaunchContext has it
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_FRAME_H_
