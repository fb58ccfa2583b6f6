// What a queue does while decisions are recorded in it: conditional nodes,
// whose bodies are recorded in streams of their own.
#include <cstddef>
#include <utility>

#include "encore/backends/cuda/runtime/queue.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"

namespace encore::backends::cuda {

using Kind = runtime::Decider::Kind;

namespace {

// What the driver cannot do is done without conditional nodes.
Status ToStatus(const Context& context, Result result, const char* what) {
  if (result == Result::kNotSupported) {
    return UnimplementedError(Message(context.ToStatus(result, what)));
  }
  return context.ToStatus(result, what);
}

}  // namespace

Status CudaQueue::StartDecision() {
  if (replaces()) {
    return UnimplementedError("what decides is recorded anew");
  }
  if (recorder_ == nullptr) return InternalError("nothing is recorded");
  StartOperation();
  ++recorder_->decisions;
  recorder_->decides = true;
  return OkStatus();
}

Status CudaQueue::SetCondition(const OpenDecision& decision,
                               CUfunction function) {
  cuuint64_t handle = decision.handle;
  const void* selector = decision.selector;
  void* arguments[] = {&handle, &selector};
  return context_->ToStatus(
      context_->api().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream_,
                                     arguments, nullptr),
      "cuLaunchKernel");
}

StatusOr<CUstream> CudaQueue::BodyStream() {
  const size_t depth = open_decisions_.size();
  while (body_streams_.size() <= depth) {
    CUstream stream = nullptr;
    ENCORE_RETURN_IF_ERROR(context_->ToStatus(
        context_->api().cuStreamCreate(&stream, kStreamNonBlocking),
        "cuStreamCreate"));
    body_streams_.push_back(stream);
  }
  return body_streams_[depth];
}

Status CudaQueue::BeginBody(Kind kind, const void* selector,
                            CUfunction function) {
  const Context::Scope scope(*context_);
  const DriverTable& api = context_->api();
  OpenDecision decision;
  decision.outer = stream_;
  decision.selector = selector;
  if (kind == Kind::kWhile) decision.again = function;
  ENCORE_ASSIGN_OR_RETURN(const CUstream body, BodyStream());
  CaptureStatus status = CaptureStatus::kNone;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData_st* edges = nullptr;
  size_t count = 0;
  const auto ask = [&] {
    return context_->ToStatus(
        api.cuStreamGetCaptureInfo(stream_, &status, nullptr, &graph, &nodes,
                                   &edges, &count),
        "cuStreamGetCaptureInfo");
  };
  ENCORE_RETURN_IF_ERROR(ask());
  ENCORE_RETURN_IF_ERROR(
      ToStatus(*context_,
               api.cuGraphConditionalHandleCreate(&decision.handle, graph,
                                                  context_->handle(), 0, 0),
               "cuGraphConditionalHandleCreate"));
  ENCORE_RETURN_IF_ERROR(SetCondition(decision, function));
  ENCORE_RETURN_IF_ERROR(ask());
  GraphNodeParams params;
  params.conditional.handle = decision.handle;
  params.conditional.type =
      kind == Kind::kWhile ? ConditionalType::kWhile : ConditionalType::kIf;
  params.conditional.size = kind == Kind::kWhile ? 1 : 2;
  params.conditional.ctx = context_->handle();
  CUgraphNode node = nullptr;
  ENCORE_RETURN_IF_ERROR(ToStatus(
      *context_, api.cuGraphAddNode(&node, graph, nodes, edges, count, &params),
      "cuGraphAddNode"));
  ENCORE_RETURN_IF_ERROR(context_->ToStatus(
      api.cuStreamUpdateCaptureDependencies(stream_, &node, nullptr, 1,
                                            kSetCaptureDependencies),
      "cuStreamUpdateCaptureDependencies"));
  decision.bodies = params.conditional.phGraph_out;
  ENCORE_RETURN_IF_ERROR(BeginCapture(body, decision.bodies[0]));
  open_decisions_.push_back(decision);
  stream_ = body;
  return OkStatus();
}

Status CudaQueue::BeginCapture(CUstream stream, CUgraph graph) {
  return ToStatus(
      *context_,
      context_->api().cuStreamBeginCaptureToGraph(
          stream, graph, nullptr, nullptr, 0, CaptureMode::kRelaxed),
      "cuStreamBeginCaptureToGraph");
}

Status CudaQueue::EndCapture() {
  CUgraph graph = nullptr;
  return context_->ToStatus(context_->api().cuStreamEndCapture(stream_, &graph),
                            "cuStreamEndCapture");
}

Status CudaQueue::NextBody() {
  ENCORE_CHECK(!open_decisions_.empty());
  const Context::Scope scope(*context_);
  const Status status = EndCapture();
  if (!status.ok()) {
    // It is recorded no more, whatever it says.
    LeaveBody();
    return status;
  }
  const Status begun = BeginCapture(stream_, open_decisions_.back().bodies[1]);
  if (!begun.ok()) LeaveBody();
  return begun;
}

void CudaQueue::LeaveBody() {
  stream_ = open_decisions_.back().outer;
  open_decisions_.pop_back();
}

Status CudaQueue::EndDecision() {
  ENCORE_CHECK(!open_decisions_.empty());
  const Context::Scope scope(*context_);
  const OpenDecision& decision = open_decisions_.back();
  Status status;
  if (decision.again != nullptr) {
    status = SetCondition(decision, decision.again);
  }
  const Status ended = EndCapture();
  LeaveBody();
  --recorder_->decisions;
  return status.ok() ? ended : status;
}

void CudaQueue::AbandonDecisions() {
  while (!open_decisions_.empty()) {
    (void)EndCapture();
    LeaveBody();
  }
}

}  // namespace encore::backends::cuda
