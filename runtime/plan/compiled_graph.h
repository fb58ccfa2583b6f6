// CompiledGraph: a program as numbered slots and flat lists of steps, plain
// data.
//
// A compiled graph holds no address, no name and no weight: it serves any
// buffers and any number of replays at once, and compiled_graph_io.h turns it
// into bytes and back. Lowering builds one, plan_verifier.h says whether it is
// sound, executable.h loads its kernel binaries and replayer.h runs it. All
// members are open to whoever builds one; once shared it does not change.
//
// Slots. A slot is a tensor, a host object, or an arena. Its storage is
//   * the caller's (input, output, parameter), bound before a replay;
//   * a constant's bytes in a blob;
//   * prepare's (derived): filled once per set of weights;
//   * a place in an arena: `base` is an arena slot, `offset` the place. Slots
//     whose lifetimes meet do not share bytes, except over Launch::in_place;
//   * a view: `base` is another tensor slot that is no view itself. Both name
//     the same bytes;
//   * its own Allocate step, whose size may depend on run-time symbols.
//
// Symbols are numbered, without names. Symbol i in a Dim is symbols[i] here.
//
// Host memory. Pool 0 is host memory; inputs, outputs, parameters and constants
// of the caller lie there unless their slot says otherwise.
#ifndef ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_H_
#define ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "encore/ir/support/typed_id.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"

namespace encore::runtime {

using SlotId = TypedId<struct SlotTag>;
using KernelBinaryId = TypedId<struct KernelBinaryTag>;
using PlanId = TypedId<struct PlanTag>;
using PoolId = TypedId<struct PoolTag>;
using DeviceId = TypedId<struct DeviceTag>;
using BlobId = TypedId<struct BlobTag>;

inline constexpr PoolId kHostPool{0};
// Every buffer of a pool, arena place, blob and constant starts at a multiple.
inline constexpr int64_t kAlignment = 64;

// Bytes that are part of the graph: constants and kernel binaries' artifacts.
struct Blob {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // keeps `bytes` alive
  bool executable = false;            // machine code: run only where trusted

  // A blob that owns a copy of `bytes`, aligned to kAlignment.
  static Blob Copy(std::span<const std::byte> bytes, bool executable = false);
};

enum class SlotRole : uint8_t {
  kInput,
  kOutput,
  kParameter,
  kDerived,
  kConstant,
  kTemporary,
};

struct Slot {
  SlotRole role = SlotRole::kTemporary;
  // An arena has no type but `bytes`; `is_arena` only with role kTemporary.
  bool is_arena = false;
  TensorType type;
  PoolId pool = kHostPool;
  // Size of its storage, 0 for host objects. Of inputs, outputs and parameters
  // exactly DenseBytes(type); others may be padded or packed.
  Dim bytes;
  SlotId base;  // an arena (place) or a tensor (view); else invalid
  Dim offset;   // bytes into `base`; a multiple of kAlignment in an arena
  BlobId blob;  // of a constant
  int64_t blob_offset = 0;

  bool is_host_object() const {
    return type.kind != ValueKind::kTensor || IsString(type.dtype);
  }
};

// Where the value of a symbol comes from.
struct SymbolInfo {
  enum class Source : uint8_t {
    kInputDim,  // inputs[index], dim `element`: known when inputs are bound
    kSlot,  // element `element` of the i64 tensor in slot `index`, each time a
            // step has written it (a run-time symbol)
  };
  int64_t lower = 0;  // both inclusive; a value outside is an error
  int64_t upper = INT64_MAX;
  Source source = Source::kInputDim;
  uint32_t index = 0;
  uint32_t element = 0;
  std::string message = {};  // the error's; empty: one that names the bounds
};

// The n-th device of a backend; its kernels see buffers of `pool`.
struct DeviceInfo {
  std::string backend;
  uint32_t ordinal = 0;
  PoolId pool = kHostPool;
};

struct PoolInfo {
  DeviceId device;  // whose memory it is; invalid for host memory
};

// A kernel in the form a backend's device loads.
struct KernelBinary {
  std::string backend;
  BlobId artifact;    // may be shared between binaries; invalid: none
  std::string entry;  // symbol in the artifact, or name of a library's kernel
  std::vector<std::byte> params;  // of the backend's own format
  // What the machine must have ("avx2", "fma"); Device::Load checks.
  std::vector<std::string> requirements;
  // The arity that Launch steps of this binary have.
  uint32_t reads = 0, writes = 0, args = 0;
  // A digest of what it computes: binaries of one backend with the same one, in
  // whatever graphs, write the same bytes where they read the same. Empty: not
  // known.
  std::vector<std::byte> identity;
};

// Makes the storage of `slot`, an arena or a slot without other storage.
struct Allocate {
  PoolId pool;
  SlotId slot;
  Dim bytes;
};

// dst = src: slots of the same number of bytes, in any pools. For host objects,
// a copy of the object.
struct Copy {
  SlotId src, dst;
};

// The kernel of `binary` on `device`, given the addresses of `reads` then
// `writes`, and the values of `args` (extents, partition counts, grid sizes:
// the kernel decides what they mean).
struct Launch {
  struct InPlace {
    uint32_t read = 0, write = 0;  // indices into reads and writes
  };
  KernelBinaryId binary;
  DeviceId device;
  // A slot in both lists is updated in place. Scratch is a write that nobody
  // reads.
  std::vector<SlotId> reads, writes;
  std::vector<Dim> args;
  // Pairs of different slots that may lie at the same address; the kernel reads
  // each element before it writes it.
  std::vector<InPlace> in_place;
};

struct Deallocate {
  PoolId pool;
  SlotId slot;
};

enum class InvokeKind : uint8_t {
  kIf,     // runs plans[value of selector] once; a bool counts as 0 or 1
  kWhile,  // plans {condition, body}: condition; while the selector is true:
           // body, carry, condition
  kScan,   // plans {body}: `trips` times body, carry
};

// Control flow over sub-plans. A plan belongs to one Invoke, and the slots that
// it uses are its own (used in no other plan), or among `reads`, `writes`,
// `carried` and `scanned` here, or external (inputs, parameters, derived,
// constants).
struct Invoke {
  // After each body: state = next. No `next` is also a state. A host object is
  // moved: `next` is then moved-from until the body writes it again.
  struct Carried {
    SlotId state, next;
  };
  // In trip i, `element` is the i-th equal part of `whole` (the last first
  // where `reversed`). `element` is a temporary view of `whole` at offset 0.
  struct StackedOperand {
    SlotId stacked, slice;
    bool reversed = false;
  };
  InvokeKind kind = InvokeKind::kIf;
  std::vector<PlanId> plans;
  SlotId selector;  // one bool, i32 or i64; invalid for kScan
  Dim trips;        // kScan
  std::vector<Carried> carried;
  std::vector<StackedOperand> scanned;
  // Every slot of the surrounding plan that the sub-plans may read or write,
  // the selector, states and scanned wholes included.
  std::vector<SlotId> reads, writes;
};

struct Step {
  std::variant<Allocate, Copy, Launch, Deallocate, Invoke> op;
  // Numbers of the stencil's nodes that this step computes. Those of a launch
  // that may fail come first, in the order of the kernel's own numbers for
  // them.
  std::vector<uint32_t> origins;
};

struct Plan {
  std::vector<Step> steps;
};

struct CompiledGraph {
  std::vector<DeviceInfo> devices;
  std::vector<PoolInfo> pools = {PoolInfo{}};
  std::vector<SymbolInfo> symbols;
  std::vector<Slot> slots;
  std::vector<Blob> blobs;
  std::vector<KernelBinary> kernel_binaries;
  std::vector<Plan> plans;
  // `prepare` reads parameters and constants and writes derived slots; invalid
  // where nothing is derived. `run` is the replay.
  PlanId prepare, run;
  // The signature: slot per input, output and parameter, in the caller's order.
  std::vector<SlotId> inputs, outputs, parameters;

  const Slot& slot(SlotId id) const { return slots[id.value()]; }
  const KernelBinary& kernel_binary(KernelBinaryId id) const {
    return kernel_binaries[id.value()];
  }
  const Plan& plan(PlanId id) const { return plans[id.value()]; }
};

// Appends and returns the new element's id.
SlotId AddSlot(CompiledGraph* graph, Slot slot);
KernelBinaryId AddKernelBinary(CompiledGraph* graph, KernelBinary binary);
PlanId AddPlan(CompiledGraph* graph, Plan plan);
BlobId AddBlob(CompiledGraph* graph, Blob blob);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_H_
