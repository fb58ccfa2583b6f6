// Replayer: binds inputs and outputs to an executable and replays it.
//
//   auto replayer = *Replayer::Create(executable, weights, &pool);
//   replayer->BindInput(0, x, sizeof(x));  // the caller's memory, no copy
//   replayer->BindOutput(0, y, sizeof(y));
//   replayer->Replay();
//
// Bindings stay until they are changed; a Bind that fails changes nothing, and
// the next Replay does what it would have done without it. Executable and
// weights are shared; each replayer has bindings and temporaries of its own, so
// many replay at once, each on its own thread. A replayer itself belongs to one
// thread at a time.
//
// Replay allocates no heap memory, takes no lock and looks nothing up, once the
// symbols have the values of the replay before. An Allocate of run-time size is
// the exception: it is served by a pool that is warm after the first replays
// (warm_pool_misses). Kernels that make values of host objects allocate those;
// copying and moving such objects does not.
//
// Faults. A failing step makes Replay return its error, naming the step; this
// replayer then refuses to go on, while others of the executable are untouched.
// Whatever Replay returns, none of its work runs any more.
//
// Memory. Where memory for the plan is not there (ResourceExhausted, of an
// arena or on the way), the replayer gives back what it has and goes on with
// the executable's smaller plan (Executable::smaller), from the beginning of
// the replay where that has begun and nothing profiles it; outputs are the
// same. It keeps that plan. Only where that finds no memory either is
// ResourceExhausted returned; where that was for the sizes that are bound, the
// plan is the graph's own again, for other sizes. A copy of a host input that
// finds no memory after a replay is such an error at once: the outputs of that
// replay stay. A lack of pinned memory makes copies slower, one
// of memory for recordings lets their steps be done one by one; both are no
// errors.
//
// Devices with queues (device.h). Enqueue returns before the work is done, and
// orders it in a queue of the caller's. Several replays may be in flight, of
// one replayer too; those of one run one after the other. What is bound must
// stay as it is until they are done, and output() says where results will be. A
// fault of such a replay is returned by the next call of Synchronize, Replay or
// Enqueue that sees it. Where a plan has steps on the host (kernels of host
// devices, sizes and branches that depend on data), Enqueue waits for the
// caller's queue and, on the way, for what these steps need.
#ifndef ENCORE_RUNTIME_REPLAY_REPLAYER_H_
#define ENCORE_RUNTIME_REPLAY_REPLAYER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/frame.h"
#include "encore/runtime/replay/frame_recordings.h"
#include "encore/runtime/replay/host_object.h"
#include "encore/runtime/replay/profiler.h"
#include "encore/runtime/replay/weights.h"

namespace encore::runtime {

class Replayer {
 public:
  // `weights` is of `executable`; `threads` outlives the replayer.
  static StatusOr<std::unique_ptr<Replayer>> Create(
      std::shared_ptr<const Executable> executable,
      std::shared_ptr<const Weights> weights, ThreadPool* threads);
  ~Replayer();
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;

  // Binds input i (of graph.inputs) to memory of the slot's pool, which is used
  // where it is: it must stay valid and unchanged through the replays that read
  // it. `dims` may be
  // left out where the shape is constant. InvalidArgument where dims or bytes
  // do not fit the input, or `data` is not aligned to its element.
  Status BindInput(size_t i, const void* data, int64_t bytes,
                   std::span<const int64_t> dims = {});
  // The same for host memory, whatever the pool: that of a device gets a copy,
  // in memory of the replayer's, before this returns, and later changes of
  // `data` are not seen. Waits for what is in flight. Where the device fails
  // the input is not bound any more.
  Status BindHostInput(size_t i, const void* data, int64_t bytes,
                       std::span<const int64_t> dims = {});
  // For inputs that are host objects, of the input's type; the object stays
  // valid and unchanged likewise.
  Status BindInput(size_t i, const HostObject* object);

  // Binds output i to memory that Replay writes: at least the output's size;
  // aligned as inputs are; apart from other outputs and from inputs, but that
  // it may be the buffer of one input, which is given up with it, where no
  // device has queues and MayShareMemory (shared_memory.h): a tensor of which
  // the run updates a part is then not copied. Outputs that are not bound, or
  // bound to null, go to memory of the replayer's.
  Status BindOutput(size_t i, void* data, int64_t bytes);

  // FailedPrecondition where an input is not bound or an earlier replay failed;
  // InvalidArgument where the bound shapes contradict each other, or buffers
  // overlap or are too small. These leave the replayer usable.
  Status Replay(Profiler* profiler = nullptr);

  // As Replay, after what is in `caller`, a queue of device `device` of the
  // graph; what is enqueued there later comes after the replay.
  // InvalidArgument where the graph has no such device, or that has no queues.
  Status Enqueue(DeviceId device, Queue& caller);
  // Returns once what was enqueued is done; its first fault.
  Status Synchronize();

  // Makes the Replay or Enqueue that runs end before its next step, or the next
  // one if none runs, with Cancelled and without work left in any queue. The
  // replayer is then as before the call, outputs undefined. From any thread.
  void Cancel() {
    const std::lock_guard lock(frame_mutex_);
    frame_->Cancel();
  }

  struct Output {
    const void* data = nullptr;  // in the slot's pool
    int64_t bytes = 0;
    std::span<const int64_t> dims;
    const HostObject* object = nullptr;  // of a host object; else null
  };
  // What the last Replay wrote, valid until the next Replay or BindOutput.
  // REQUIRES a successful Replay.
  Output output(size_t i);
  // The same as a literal of its own, from whatever pool. Waits for what is in
  // flight; its first fault, or the device's.
  StatusOr<Literal> CopyOutput(size_t i);

  // The step at which a Replay failed, whose origins say what it computes; null
  // where none did.
  const Step* failed_step() const;
  // The number of the stencil's node that failed in it; nothing where that is
  // not known, or none did.
  std::optional<uint32_t> failed_origin() const;

  const Executable& executable() const { return *executable_; }
  // The graph that is replayed: the executable's, or that of its smaller plan.
  // What names steps names those of this one.
  const CompiledGraph& graph() const { return *graph_; }
  // Whether that is the smaller plan.
  bool is_smaller() const { return graph_ != &executable_->graph(); }
  int64_t warm_pool_misses() const { return frame_->warm_pool_misses(); }
  // Of stretches that devices record; all 0 where none does.
  RecordingCounts recordings() const { return frame_->recordings(); }
  // Bytes of arenas and other lasting temporaries.
  int64_t arena_bytes() const { return frame_->owned_bytes(); }

 private:
  // What is known of an input or output from the graph.
  struct Port {
    SlotId slot;
    int64_t alignment = 1;
    int64_t static_bytes = -1;  // -1: depends on symbols
    bool is_host_object = false;
    bool run_time_sized = false;
    // The binding. An empty input may be bound to null.
    bool is_bound = false;  // of an input
    const void* data = nullptr;
    int64_t bytes = 0;  // of an output
    std::vector<int64_t> dims;
    // Memory of the replayer's: an output's, or a copy of an input.
    void* own = nullptr;
    int64_t own_bytes = 0;
  };
  struct Range {
    uintptr_t begin = 0, end = 0;
    bool is_output = false;
  };

  Replayer(std::shared_ptr<const Executable> executable,
           std::shared_ptr<const Weights> weights, ThreadPool* threads);
  Status Init();
  // What a frame needs before anything is bound, and what is bound already.
  Status StartFrame();
  // Whether there is a smaller plan to try after that status.
  bool CanShrink(const Status& status) const;
  // Goes on with that plan of the executable, with a frame of its own.
  Status UsePlan(const CompiledGraph& graph, const ReplayCode& run);
  // The same with the smaller one, once nothing runs.
  Status Shrink();
  // Rebind with the smaller plan; where it does not fit either, with neither.
  Status RebindSmaller();
  // Whether an output is bound to the memory of an input, which a replay that
  // failed may have changed, and a plan with another order may not read in
  // time.
  bool GivesUpInputs() const;
  Port MakePort(SlotId slot) const;
  // Of the port's pool; null for host memory.
  Device* DeviceOf(const Port& port) const;
  Status CheckDims(size_t i, std::span<const int64_t> dims) const;
  // What input i would have as dims where it is bound to such a buffer.
  StatusOr<std::span<const int64_t>> CheckInput(
      size_t i, const void* data, int64_t bytes,
      std::span<const int64_t> dims) const;
  // Makes the port's own memory large enough.
  Status Reserve(Port& port, int64_t bytes);
  // Binds what has been checked.
  void SetInput(size_t i, const void* data, std::span<const int64_t> dims);
  // What a replay has to do first.
  Status Start();
  // The same after new bindings.
  Status Rebind();
  // Remembers a failure, after which nothing goes on.
  Status Poison(Status status);
  // Calls run(), of the frame; once more with the smaller plan where there is
  // too little memory. What fails then is remembered.
  template <typename Run>
  Status RunInMemory(const Run& run);
  Status SettleSymbols();
  Status SettleOutput(Port& port);
  Status CheckOverlap();
  // OK where an overlap that was found is of an output and an input that may
  // share their memory.
  Status CheckShared() const;

  std::shared_ptr<const Executable> executable_;
  std::shared_ptr<const Weights> weights_;
  ThreadPool* const threads_;
  const CompiledGraph* graph_;
  // Held where another thread may look for the frame, or it is replaced.
  std::mutex frame_mutex_;
  std::optional<Frame> frame_;
  std::vector<Port> inputs_, outputs_;
  std::vector<Range> ranges_;
  size_t unbound_inputs_ = 0;
  bool symbols_changed_ = true;
  bool bindings_changed_ = true;
  bool has_outputs_ = false;  // of a replay with this frame
  Status poison_;
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_REPLAYER_H_
