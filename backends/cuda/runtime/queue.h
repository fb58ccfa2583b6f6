// CudaQueue and CudaEvent: a stream and an event of the driver, with the faults
// that kernels report.
//
// Work in a queue goes one of three ways: it is enqueued in the stream, or it
// is recorded (recording.h), or it changes what was recorded.
#ifndef ENCORE_BACKENDS_CUDA_RUNTIME_QUEUE_H_
#define ENCORE_BACKENDS_CUDA_RUNTIME_QUEUE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/kernel_params.h"
#include "encore/backends/cuda/runtime/context.h"
#include "encore/backends/cuda/runtime/fault_records.h"
#include "encore/backends/cuda/runtime/stream_timer.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/decider.h"
#include "encore/runtime/device/device.h"

namespace encore::backends::cuda {

class CudaQueue;

// What is recorded between BeginRecording and EndRecording.
struct Recorder {
  // A launch or copy of the runtime's: nodes[first] and those behind, up to the
  // next operation's.
  struct Operation {
    size_t first = 0;
    std::shared_ptr<FaultRecords> records;  // of the queue that it was in
  };
  bool active = true;
  std::vector<Operation> operations;
  std::vector<CUgraphNode> nodes;
  std::vector<CudaQueue*> queues;  // that take part
  // Decisions that are being recorded: what is in them is no operation and has
  // no node of its own here.
  int decisions = 0;
  bool decides = false;  // whether there was one
};

using RecordsList = std::vector<std::shared_ptr<FaultRecords>>;

class CudaEvent : public runtime::Event {
 public:
  static StatusOr<std::unique_ptr<runtime::Event>> New(
      std::shared_ptr<const Context> context);
  ~CudaEvent() override;
  Status Synchronize() override;

 private:
  friend class CudaQueue;
  explicit CudaEvent(std::shared_ptr<const Context> context)
      : context_(std::move(context)) {}

  const std::shared_ptr<const Context> context_;
  CUevent event_ = nullptr;
  // Where work before the place may have reported faults.
  RecordsList records_;
  std::shared_ptr<Recorder> recorder_;  // where it was recorded, if anywhere
};

// A part of a launch or copy.
struct FunctionLaunch {
  CUfunction function = nullptr;
  std::array<uint32_t, 3> grid = {}, block = {};
  uint32_t shared_bytes = 0;
};
struct MemoryCopy {
  enum class Kind : uint8_t { kFromHost, kToHost, kWithin };
  Kind kind = Kind::kWithin;
  void* dst = nullptr;
  const void* src = nullptr;
  int64_t bytes = 0;
  // Where it is of another device: that one's.
  const Context* from = nullptr;
};

class CudaQueue : public runtime::Queue {
 public:
  // With a stream of its own.
  static StatusOr<std::unique_ptr<CudaQueue>> New(
      std::shared_ptr<const Context> context);
  // Of a stream of the caller's, which outlives it.
  CudaQueue(std::shared_ptr<const Context> context, CUstream stream);
  // Whose work takes the place of what `executable` has.
  CudaQueue(std::shared_ptr<const Context> context, CUgraphExec executable);
  ~CudaQueue() override;

  Status Synchronize() override;
  Status Record(runtime::Event& event) override;
  Status Wait(const runtime::Event& event) override;
  Status StartTimer() override;
  StatusOr<std::optional<int64_t>> StopTimer() override;
  std::optional<Fault> fault() const override { return fault_; }

  // One launch of the runtime's is a call of StartOperation, Launch for each of
  // its functions that there is anything to launch of, and EndOperation; a copy
  // is Copy in place of these. No Scope is needed around them. `arguments` as
  // cuLaunchKernel takes them.
  void StartOperation();
  Status Launch(const FunctionLaunch& launch, void** arguments);
  Status EndOperation();
  Status Copy(const MemoryCopy& copy);
  // In place of these for what a library enqueues by itself: the stream that it
  // is to go to. Unimplemented where it would change what was recorded, as its
  // nodes are not known.
  StatusOr<CUstream> StartLibrary();

  // Of Decider (runtime/device/decider.h); `function` is DecisionKernel's.
  Status StartDecision();
  Status BeginBody(runtime::Decider::Kind kind, const void* selector,
                   CUfunction function);
  Status NextBody();
  Status EndDecision();

  FaultRecords& records() { return *records_; }
  const std::shared_ptr<const Context>& context() const { return context_; }

  // Of recording.h.
  Status BeginRecording();
  // Null where the queue did not begin it.
  std::shared_ptr<Recorder> EndRecording(CUgraph* graph, Status* status);
  Status RunGraph(CUgraphExec executable, const RecordsList& records);
  void StartReplacing(std::span<const CUgraphNode> nodes,
                      const std::shared_ptr<FaultRecords>& records);

 private:
  struct OpenDecision {
    CUstream outer = nullptr;  // where the node is recorded
    CUgraph* bodies = nullptr;
    cuuint64_t handle = 0;
    const void* selector = nullptr;
    CUfunction again = nullptr;  // sets the condition after each trip
  };

  explicit CudaQueue(std::shared_ptr<const Context> context);

  bool replaces() const { return executable_ != nullptr; }
  Status SetCondition(const OpenDecision& decision, CUfunction function);
  // For the body of a decision within those that are open.
  StatusOr<CUstream> BodyStream();
  Status BeginCapture(CUstream stream, CUgraph graph);
  Status EndCapture();
  void LeaveBody();
  // Ends what a failure left open.
  void AbandonDecisions();
  // Notes the node that the last call added, where that is recorded.
  Status NoteNode();
  StatusOr<CUgraphNode> NextReplaced();
  Status Issue(const FunctionLaunch& launch, void** arguments);
  Result Issue(const MemoryCopy& copy);
  Status ReplaceCopy(const MemoryCopy& copy);
  void AddRecords(const RecordsList& records);
  // The first fault of this queue or of what it waited for.
  Status FindFault();

  const std::shared_ptr<const Context> context_;
  CUstream stream_ = nullptr;
  bool owns_stream_ = false;
  // Whether there may be work that nobody has waited for.
  bool busy_ = false;
  std::shared_ptr<FaultRecords> records_;
  RecordsList others_;  // of queues that this one waited for
  Status found_;
  std::optional<Fault> fault_;
  std::shared_ptr<Recorder> recorder_;
  std::vector<OpenDecision> open_decisions_;  // innermost last
  std::vector<CUstream> body_streams_;        // by depth, made at the first use
  std::unique_ptr<StreamTimer> timer_;        // made at its first use
  CUgraphExec executable_ = nullptr;
  std::span<const CUgraphNode> replaced_;
  size_t next_replaced_ = 0;
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_RUNTIME_QUEUE_H_
