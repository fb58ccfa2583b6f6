// StreamTimer: what work in a stream takes by the device's own clock: from
// CUPTI's records of it where that library is there and answers (profiling/
// cupti.h), which have nothing of the stream's own time between kernels and
// events in them, else between two events.
#ifndef ENCORE_BACKENDS_CUDA_RUNTIME_STREAM_TIMER_H_
#define ENCORE_BACKENDS_CUDA_RUNTIME_STREAM_TIMER_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/profiling/cupti.h"
#include "encore/backends/cuda/runtime/context.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cuda {

// Used by one thread at a time.
class StreamTimer {
 public:
  // Of `stream`, which outlives it.
  static StatusOr<std::unique_ptr<StreamTimer>> New(
      std::shared_ptr<const Context> context, CUstream stream);
  ~StreamTimer();
  StreamTimer(const StreamTimer&) = delete;
  StreamTimer& operator=(const StreamTimer&) = delete;

  // REQUIRES that all work in the stream is done.
  Status Start();
  // Waits for the work that was enqueued since Start: nanoseconds.
  StatusOr<int64_t> Stop();

 private:
  StreamTimer(std::shared_ptr<const Context> context, CUstream stream)
      : context_(std::move(context)), stream_(stream) {}

  const std::shared_ptr<const Context> context_;
  const CUstream stream_;
  CUevent begin_ = nullptr, end_ = nullptr;
  Cupti* cupti_ = nullptr;    // null: by events
  bool is_recorded_ = false;  // whether CUPTI was started and not stopped
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_RUNTIME_STREAM_TIMER_H_
