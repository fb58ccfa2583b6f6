#include "encore/backends/cuda/runtime/stream_timer.h"

#include <cmath>
#include <optional>
#include <utility>

#include "encore/ir/support/status_macros.h"

namespace encore::backends::cuda {

StatusOr<std::unique_ptr<StreamTimer>> StreamTimer::New(
    std::shared_ptr<const Context> context, CUstream stream) {
  std::unique_ptr<StreamTimer> timer(
      new StreamTimer(std::move(context), stream));
  const Context& of = *timer->context_;
  const Context::Scope scope(of);
  for (CUevent* const event : {&timer->begin_, &timer->end_}) {
    ENCORE_RETURN_IF_ERROR(of.ToStatus(
        of.api().cuEventCreate(event, kEventTiming), "cuEventCreate"));
  }
  if (of.cupti().empty()) return timer;
  const auto cupti = Cupti::Open(of.cupti());
  if (cupti.ok()) timer->cupti_ = *cupti;
  return timer;
}

StreamTimer::~StreamTimer() {
  const Context::Scope scope(*context_);
  if (is_recorded_) (void)cupti_->Stop(context_->handle(), stream_);
  for (const CUevent event : {begin_, end_}) {
    if (event != nullptr) (void)context_->api().cuEventDestroy(event);
  }
}

Status StreamTimer::Start() {
  const Context::Scope scope(*context_);
  if (is_recorded_) (void)cupti_->Stop(context_->handle(), stream_);
  is_recorded_ =
      cupti_ != nullptr && cupti_->Start(context_->handle(), stream_).ok();
  return context_->ToStatus(context_->api().cuEventRecord(begin_, stream_),
                            "cuEventRecord");
}

StatusOr<int64_t> StreamTimer::Stop() {
  const Context::Scope scope(*context_);
  const DriverTable& api = context_->api();
  ENCORE_RETURN_IF_ERROR(
      context_->ToStatus(api.cuEventRecord(end_, stream_), "cuEventRecord"));
  ENCORE_RETURN_IF_ERROR(
      context_->ToStatus(api.cuEventSynchronize(end_), "cuEventSynchronize"));
  if (is_recorded_) {
    is_recorded_ = false;
    const auto recorded = cupti_->Stop(context_->handle(), stream_);
    if (recorded.ok() && recorded->has_value()) return **recorded;
  }
  float milliseconds = 0;
  ENCORE_RETURN_IF_ERROR(
      context_->ToStatus(api.cuEventElapsedTime(&milliseconds, begin_, end_),
                         "cuEventElapsedTime"));
  return std::llround(static_cast<double>(milliseconds) * 1e6);
}

}  // namespace encore::backends::cuda
