// What a replayer does where there is too little memory.
#include <algorithm>
#include <mutex>

#include "encore/ir/support/status_macros.h"
#include "encore/runtime/replay/replayer.h"

namespace encore::runtime {

Status Replayer::StartFrame() {
  const CompiledGraph& graph = *graph_;
  symbols_changed_ = bindings_changed_ = true;
  ENCORE_RETURN_IF_ERROR(frame_->Init());
  for (size_t i = 0; i < executable_->constants().size(); ++i) {
    frame_->SetAddress(executable_->constants()[i],
                       executable_->constant_address(i));
  }
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    frame_->SetAddress(graph.parameters[i], weights_->parameters()[i]);
  }
  for (size_t i = 0; i < executable_->derived().size(); ++i) {
    frame_->SetAddress(executable_->derived()[i], weights_->derived()[i]);
  }
  for (const Port& port : inputs_) {
    if (!port.is_bound) continue;
    frame_->SetAddress(port.slot, const_cast<void*>(port.data));
  }
  if (graph.symbols.empty()) {
    ENCORE_RETURN_IF_ERROR(frame_->Resize());
    symbols_changed_ = false;
  }
  return OkStatus();
}

bool Replayer::CanShrink(const Status& status) const {
  return status.code() == StatusCode::kResourceExhausted && !is_smaller() &&
         !GivesUpInputs() && executable_->smaller().ok();
}

Status Replayer::UsePlan(const CompiledGraph& graph, const ReplayCode& run) {
  {
    const std::lock_guard lock(frame_mutex_);
    const bool cancelled = frame_->cancelled();
    graph_ = &graph;
    frame_.emplace(graph, run, executable_->devices(), threads_);
    if (cancelled) frame_->Cancel();
  }
  has_outputs_ = false;
  return StartFrame();
}

Status Replayer::Shrink() {
  if (frame_->in_flight()) ENCORE_RETURN_IF_ERROR(Synchronize());
  ENCORE_ASSIGN_OR_RETURN(const Executable::Smaller* const smaller,
                          executable_->smaller());
  return UsePlan(smaller->graph, smaller->run);
}

Status Replayer::RebindSmaller() {
  Status status = Shrink();
  const bool lacks = status.code() == StatusCode::kResourceExhausted;
  if (!status.ok() && !lacks) return Poison(status);
  if (!lacks) status = Rebind();
  if (status.code() != StatusCode::kResourceExhausted) return status;
  // These sizes are too much for any plan; others may not be.
  ENCORE_RETURN_IF_ERROR(
      Poison(UsePlan(executable_->graph(), executable_->run())));
  return status;
}

bool Replayer::GivesUpInputs() const {
  return std::ranges::any_of(outputs_, [&](const Port& output) {
    return output.data != nullptr &&
           std::ranges::any_of(inputs_, [&](const Port& input) {
             return input.data == output.data;
           });
  });
}

}  // namespace encore::runtime
