#include "encore/backends/cuda/runtime/queue.h"

#include <algorithm>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"

namespace encore::backends::cuda {
namespace {

DevicePointer Address(const void* data) {
  return reinterpret_cast<DevicePointer>(data);
}

Status WantsAnother() {
  return UnimplementedError("what was recorded cannot be changed so");
}

}  // namespace

StatusOr<std::unique_ptr<runtime::Event>> CudaEvent::New(
    std::shared_ptr<const Context> context) {
  std::unique_ptr<CudaEvent> event(new CudaEvent(std::move(context)));
  const Context::Scope scope(*event->context_);
  ENCORE_RETURN_IF_ERROR(event->context_->ToStatus(
      event->context_->api().cuEventCreate(&event->event_, kEventDisableTiming),
      "cuEventCreate"));
  return event;
}

CudaEvent::~CudaEvent() {
  if (event_ == nullptr) return;
  const Context::Scope scope(*context_);
  (void)context_->api().cuEventDestroy(event_);
}

Status CudaEvent::Synchronize() {
  const Context::Scope scope(*context_);
  ENCORE_RETURN_IF_ERROR(context_->ToStatus(
      context_->api().cuEventSynchronize(event_), "cuEventSynchronize"));
  for (const auto& records : records_) {
    ENCORE_RETURN_IF_ERROR(records->Find(nullptr));
  }
  return OkStatus();
}

CudaQueue::CudaQueue(std::shared_ptr<const Context> context)
    : context_(std::move(context)),
      records_(std::make_shared<FaultRecords>(context_)) {}

CudaQueue::CudaQueue(std::shared_ptr<const Context> context, CUstream stream)
    : CudaQueue(std::move(context)) {
  stream_ = stream;
  // There may be work of the caller's.
  busy_ = true;
}

CudaQueue::CudaQueue(std::shared_ptr<const Context> context,
                     CUgraphExec executable)
    : context_(std::move(context)), executable_(executable) {}

StatusOr<std::unique_ptr<CudaQueue>> CudaQueue::New(
    std::shared_ptr<const Context> context) {
  std::unique_ptr<CudaQueue> queue(new CudaQueue(std::move(context)));
  const Context::Scope scope(*queue->context_);
  ENCORE_RETURN_IF_ERROR(
      queue->context_->ToStatus(queue->context_->api().cuStreamCreate(
                                    &queue->stream_, kStreamNonBlocking),
                                "cuStreamCreate"));
  queue->owns_stream_ = true;
  return queue;
}

CudaQueue::~CudaQueue() {
  timer_ = nullptr;
  const Context::Scope scope(*context_);
  for (const CUstream stream : body_streams_) {
    (void)context_->api().cuStreamDestroy(stream);
  }
  if (!owns_stream_) return;
  (void)context_->api().cuStreamDestroy(stream_);
}

Status CudaQueue::StartTimer() {
  ENCORE_CHECK(!replaces());
  if (timer_ == nullptr) {
    ENCORE_ASSIGN_OR_RETURN(timer_, StreamTimer::New(context_, stream_));
  }
  return timer_->Start();
}

StatusOr<std::optional<int64_t>> CudaQueue::StopTimer() {
  ENCORE_ASSIGN_OR_RETURN(const int64_t nanoseconds, timer_->Stop());
  return std::optional<int64_t>(nanoseconds);
}

Status CudaQueue::FindFault() {
  if (!found_.ok()) return found_;
  found_ = records_->Find(&fault_);
  for (size_t i = 0; found_.ok() && i < others_.size(); ++i) {
    found_ = others_[i]->Find(nullptr);
  }
  return found_;
}

Status CudaQueue::Synchronize() {
  ENCORE_CHECK(!replaces());
  if (busy_) {
    const Context::Scope scope(*context_);
    const Result result = context_->api().cuStreamSynchronize(stream_);
    if (result != Result::kSuccess) {
      // Where the device is not lost there may be work that goes on: nobody
      // gives its memory back before it is done.
      (void)context_->api().cuStreamSynchronize(stream_);
      return context_->ToStatus(result, "cuStreamSynchronize");
    }
    busy_ = false;
  }
  ENCORE_RETURN_IF_ERROR(FindFault());
  others_.clear();
  return OkStatus();
}

void CudaQueue::AddRecords(const RecordsList& records) {
  for (const auto& one : records) {
    if (one != records_ && std::ranges::find(others_, one) == others_.end()) {
      others_.push_back(one);
    }
  }
}

Status CudaQueue::Record(runtime::Event& event) {
  ENCORE_CHECK(!replaces());
  auto& own = static_cast<CudaEvent&>(event);
  const Context::Scope scope(*context_);
  ENCORE_RETURN_IF_ERROR(context_->ToStatus(
      context_->api().cuEventRecord(own.event_, stream_), "cuEventRecord"));
  own.recorder_ = recorder_;
  own.records_.assign(others_.begin(), others_.end());
  if (!records_->empty()) own.records_.push_back(records_);
  return OkStatus();
}

Status CudaQueue::Wait(const runtime::Event& event) {
  ENCORE_CHECK(!replaces());
  const auto& own = static_cast<const CudaEvent&>(event);
  const Context::Scope scope(*context_);
  busy_ = true;
  ENCORE_RETURN_IF_ERROR(context_->ToStatus(
      context_->api().cuStreamWaitEvent(stream_, own.event_, 0),
      "cuStreamWaitEvent"));
  AddRecords(own.records_);
  if (own.recorder_ != nullptr && own.recorder_->active &&
      recorder_ == nullptr) {
    recorder_ = own.recorder_;
    recorder_->queues.push_back(this);
  }
  return OkStatus();
}

void CudaQueue::StartOperation() {
  busy_ = true;
  if (recorder_ == nullptr || recorder_->decisions > 0) return;
  recorder_->operations.push_back({recorder_->nodes.size(), records_});
}

StatusOr<CUstream> CudaQueue::StartLibrary() {
  if (replaces()) return WantsAnother();
  StartOperation();
  return stream_;
}

Status CudaQueue::EndOperation() {
  if (replaces() && next_replaced_ != replaced_.size()) return WantsAnother();
  return OkStatus();
}

Status CudaQueue::NoteNode() {
  if (recorder_ == nullptr || recorder_->decisions > 0) return OkStatus();
  CaptureStatus status = CaptureStatus::kNone;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData_st* edges = nullptr;
  size_t count = 0;
  ENCORE_RETURN_IF_ERROR(context_->ToStatus(
      context_->api().cuStreamGetCaptureInfo(stream_, &status, nullptr, nullptr,
                                             &nodes, &edges, &count),
      "cuStreamGetCaptureInfo"));
  if (status != CaptureStatus::kActive || count != 1) {
    return InternalError("what was enqueued was not recorded as one node");
  }
  recorder_->nodes.push_back(nodes[0]);
  return OkStatus();
}

StatusOr<CUgraphNode> CudaQueue::NextReplaced() {
  if (next_replaced_ == replaced_.size()) return WantsAnother();
  return replaced_[next_replaced_++];
}

Status CudaQueue::Launch(const FunctionLaunch& launch, void** arguments) {
  const Context::Scope scope(*context_);
  ENCORE_RETURN_IF_ERROR(Issue(launch, arguments));
  return NoteNode();
}

Status CudaQueue::Issue(const FunctionLaunch& launch, void** arguments) {
  const auto& [gx, gy, gz] = launch.grid;
  const auto& [bx, by, bz] = launch.block;
  if (!replaces()) {
    return context_->ToStatus(
        context_->api().cuLaunchKernel(launch.function, gx, gy, gz, bx, by, bz,
                                       launch.shared_bytes, stream_, arguments,
                                       nullptr),
        "cuLaunchKernel");
  }
  ENCORE_ASSIGN_OR_RETURN(const CUgraphNode node, NextReplaced());
  KernelNodeParams params;
  params.func = launch.function;
  params.gridDimX = gx;
  params.gridDimY = gy;
  params.gridDimZ = gz;
  params.blockDimX = bx;
  params.blockDimY = by;
  params.blockDimZ = bz;
  params.sharedMemBytes = launch.shared_bytes;
  params.kernelParams = arguments;
  return context_->ToStatus(context_->api().cuGraphExecKernelNodeSetParams(
                                executable_, node, &params),
                            "cuGraphExecKernelNodeSetParams");
}

Status CudaQueue::Copy(const MemoryCopy& copy) {
  StartOperation();
  if (copy.bytes <= 0 || copy.dst == copy.src) return EndOperation();
  const Context::Scope scope(*context_);
  if (replaces()) {
    ENCORE_RETURN_IF_ERROR(ReplaceCopy(copy));
    return EndOperation();
  }
  ENCORE_RETURN_IF_ERROR(
      context_->ToStatus(Issue(copy), "copying into the stream"));
  return NoteNode();
}

Result CudaQueue::Issue(const MemoryCopy& copy) {
  const DriverTable& api = context_->api();
  const auto bytes = static_cast<size_t>(copy.bytes);
  if (copy.from != nullptr) {
    return api.cuMemcpyPeerAsync(Address(copy.dst), context_->handle(),
                                 Address(copy.src), copy.from->handle(), bytes,
                                 stream_);
  }
  switch (copy.kind) {
    case MemoryCopy::Kind::kFromHost:
      return api.cuMemcpyHtoDAsync(Address(copy.dst), copy.src, bytes, stream_);
    case MemoryCopy::Kind::kToHost:
      return api.cuMemcpyDtoHAsync(copy.dst, Address(copy.src), bytes, stream_);
    case MemoryCopy::Kind::kWithin:
      break;
  }
  return api.cuMemcpyDtoDAsync(Address(copy.dst), Address(copy.src), bytes,
                               stream_);
}

Status CudaQueue::ReplaceCopy(const MemoryCopy& copy) {
  if (copy.from != nullptr) return WantsAnother();
  ENCORE_ASSIGN_OR_RETURN(const CUgraphNode node, NextReplaced());
  MemcpyNodeParams params;
  if (copy.kind == MemoryCopy::Kind::kFromHost) {
    params.srcMemoryType = MemoryType::kHost;
    params.srcHost = copy.src;
  } else {
    params.srcDevice = Address(copy.src);
  }
  if (copy.kind == MemoryCopy::Kind::kToHost) {
    params.dstMemoryType = MemoryType::kHost;
    params.dstHost = copy.dst;
  } else {
    params.dstDevice = Address(copy.dst);
  }
  params.WidthInBytes = static_cast<size_t>(copy.bytes);
  params.Height = 1;
  params.Depth = 1;
  const Result result = context_->api().cuGraphExecMemcpyNodeSetParams(
      executable_, node, &params, context_->handle());
  // Of another kind of memory than before, which nothing here can tell.
  if (result == Result::kInvalidValue) return WantsAnother();
  return context_->ToStatus(result, "cuGraphExecMemcpyNodeSetParams");
}

Status CudaQueue::BeginRecording() {
  const Context::Scope scope(*context_);
  // Others may allocate in this thread meanwhile.
  ENCORE_RETURN_IF_ERROR(context_->ToStatus(
      context_->api().cuStreamBeginCapture(stream_, CaptureMode::kRelaxed),
      "cuStreamBeginCapture"));
  recorder_ = std::make_shared<Recorder>();
  recorder_->queues.push_back(this);
  return OkStatus();
}

std::shared_ptr<Recorder> CudaQueue::EndRecording(CUgraph* graph,
                                                  Status* status) {
  if (recorder_ == nullptr) return nullptr;
  const Context::Scope scope(*context_);
  for (CudaQueue* const queue : recorder_->queues) queue->AbandonDecisions();
  recorder_->decisions = 0;
  *status = context_->ToStatus(
      context_->api().cuStreamEndCapture(stream_, graph), "cuStreamEndCapture");
  const std::shared_ptr<Recorder> recorder = recorder_;
  recorder->active = false;
  for (CudaQueue* const queue : recorder->queues) queue->recorder_ = nullptr;
  recorder->queues.clear();
  return recorder;
}

Status CudaQueue::RunGraph(CUgraphExec executable, const RecordsList& records) {
  const Context::Scope scope(*context_);
  busy_ = true;
  AddRecords(records);
  return context_->ToStatus(context_->api().cuGraphLaunch(executable, stream_),
                            "cuGraphLaunch");
}

void CudaQueue::StartReplacing(std::span<const CUgraphNode> nodes,
                               const std::shared_ptr<FaultRecords>& records) {
  replaced_ = nodes;
  next_replaced_ = 0;
  records_ = records;
}

}  // namespace encore::backends::cuda
