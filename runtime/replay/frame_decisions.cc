// What a frame does with decisions (decider.h).
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "encore/ir/support/status_macros.h"
#include "encore/runtime/device/decider.h"
#include "encore/runtime/replay/frame.h"

namespace encore::runtime {

using Code = ReplayOp::Code;

Status Frame::Decide(const ReplayOp& op, Queue& queue) {
  const ReplayCode::Decision& decision = code_.decisions[op.c];
  const bool loops = decision.kind == InvokeKind::kWhile;
  ENCORE_ASSIGN_OR_RETURN(void* const staging,
                          queues_.Staging(decision.staging - 1, 1));
  if (loops) ENCORE_RETURN_IF_ERROR(RunBody(decision.bodies[0], queue));
  for (;;) {
    ENCORE_RETURN_IF_ERROR(
        op.copier->CopyToHost(staging, table_[decision.selector], 1, &queue));
    if (const Status status = queue.Synchronize(); !status.ok()) {
      return QueueFault(op.step, status);
    }
    uint8_t value;
    std::memcpy(&value, staging, 1);
    if (!loops) return RunBody(decision.bodies[value != 0 ? 1 : 0], queue);
    if (value == 0) return OkStatus();
    if (cancelled_.exchange(false, std::memory_order_relaxed)) {
      return CancelledError("the replay was cancelled");
    }
    ENCORE_RETURN_IF_ERROR(RunBody(decision.bodies[1], queue));
    ENCORE_RETURN_IF_ERROR(RunBody(decision.bodies[0], queue));
  }
}

Status Frame::RunBody(const std::vector<ReplayOp>& body, Queue& queue) {
  for (const ReplayOp& op : body) {
    const Status status =
        op.code == Code::kDecide ? Decide(op, queue) : SubmitWork(op, queue);
    if (!status.ok()) return fault_ ? status : Fault(op.step, status);
  }
  return OkStatus();
}

Status Frame::RecordDecision(const ReplayOp& op, Queue& queue) {
  const ReplayCode::Decision& decision = code_.decisions[op.c];
  Decider& decider = *decision.decider;
  const void* const selector = table_[decision.selector];
  ENCORE_RETURN_IF_ERROR(decider.StartDecision(queue));
  if (decision.kind == InvokeKind::kIf) {
    ENCORE_RETURN_IF_ERROR(
        decider.BeginBody(queue, Decider::Kind::kIf, selector));
    ENCORE_RETURN_IF_ERROR(RecordBody(decision.bodies[1], queue));
    ENCORE_RETURN_IF_ERROR(decider.NextBody(queue));
    ENCORE_RETURN_IF_ERROR(RecordBody(decision.bodies[0], queue));
    return decider.EndDecision(queue);
  }
  ENCORE_RETURN_IF_ERROR(RecordBody(decision.bodies[0], queue));
  ENCORE_RETURN_IF_ERROR(
      decider.BeginBody(queue, Decider::Kind::kWhile, selector));
  ENCORE_RETURN_IF_ERROR(RecordBody(decision.bodies[1], queue));
  ENCORE_RETURN_IF_ERROR(RecordBody(decision.bodies[0], queue));
  return decider.EndDecision(queue);
}

Status Frame::RecordBody(const std::vector<ReplayOp>& body, Queue& queue) {
  for (const ReplayOp& op : body) ENCORE_RETURN_IF_ERROR(Submit(op, queue));
  return OkStatus();
}

}  // namespace encore::runtime
