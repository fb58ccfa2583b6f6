// The driver's functions of copies, streams and events.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "encore/backends/cuda/fake/state.h"

namespace encore::backends::cuda::fake {

Result FakeState::cuMemcpyHtoDAsync(DevicePointer dst, const void* src,
                                    size_t bytes, CUstream stream) {
  const CopyWork copy{dst, reinterpret_cast<uint64_t>(src), bytes, false, true};
  const Result result = CheckCopy(copy);
  return result == Result::kSuccess ? Enqueue(stream, copy) : result;
}

Result FakeState::cuMemcpyDtoHAsync(void* dst, DevicePointer src, size_t bytes,
                                    CUstream stream) {
  const CopyWork copy{reinterpret_cast<uint64_t>(dst), src, bytes, true, false};
  const Result result = CheckCopy(copy);
  return result == Result::kSuccess ? Enqueue(stream, copy) : result;
}

Result FakeState::cuMemcpyDtoDAsync(DevicePointer dst, DevicePointer src,
                                    size_t bytes, CUstream stream) {
  const CopyWork copy{dst, src, bytes, false, false};
  const Result result = CheckCopy(copy);
  return result == Result::kSuccess ? Enqueue(stream, copy) : result;
}

Result FakeState::cuMemcpyPeerAsync(DevicePointer dst, CUcontext dst_context,
                                    DevicePointer src, CUcontext src_context,
                                    size_t bytes, CUstream stream) {
  int dst_owner = 0, src_owner = 0;
  if (dst_context == nullptr || src_context == nullptr ||
      memory_.Find(dst, bytes, &dst_owner) == nullptr ||
      memory_.Find(src, bytes, &src_owner) == nullptr ||
      dst_owner != dst_context->device || src_owner != src_context->device) {
    return Result::kInvalidValue;
  }
  return cuMemcpyDtoDAsync(dst, src, bytes, stream);
}

Result FakeState::cuStreamCreate(CUstream* stream, unsigned int flags) {
  CUcontext context = nullptr;
  if (const Result result = Current(&context); result != Result::kSuccess) {
    return result;
  }
  // Others would wait for the null stream, which is not there.
  if (flags != kStreamNonBlocking) return Result::kNotSupported;
  auto made = std::make_unique<CUstream_st>();
  made->context = context;
  *stream = made.get();
  streams_.emplace(made.get(), std::move(made));
  return Result::kSuccess;
}

Result FakeState::cuStreamDestroy(CUstream stream) {
  if (!IsLive(streams_, stream)) return Result::kInvalidHandle;
  const Result lost = stream->context->lost;
  // Nothing of it runs any more.
  if (lost != Result::kSuccess) work_.Wait(stream->last);
  streams_.erase(stream);
  return lost;
}

Result FakeState::cuStreamSynchronize(CUstream stream) {
  if (!IsLive(streams_, stream)) return Result::kInvalidHandle;
  if (stream->capture != nullptr) return Invalidate(stream);
  work_.Wait(stream->last);
  return stream->context->lost;
}

Result FakeState::cuStreamWaitEvent(CUstream stream, CUevent event,
                                    unsigned int flags) {
  if (!IsLive(events_, event) || flags != 0) return Result::kInvalidHandle;
  if (const Result result = Use(stream); result != Result::kSuccess) {
    return result;
  }
  if (event->capture == nullptr) {
    if (stream->capture != nullptr) {
      stream->capture->invalid = true;
      return Result::kCaptureIsolation;
    }
    stream->last = work_.Add({stream->last, event->task}, nullptr);
    return Result::kSuccess;
  }
  if (event->capture->graph == nullptr) return Result::kCapturedEvent;
  if (stream->capture == nullptr) {
    stream->capture = event->capture;
    stream->dependencies.clear();
  } else if (stream->capture != event->capture) {
    stream->capture->invalid = event->capture->invalid = true;
    return Result::kCaptureMerge;
  }
  for (const CUgraphNode node : event->nodes) {
    if (std::ranges::find(stream->dependencies, node) ==
        stream->dependencies.end()) {
      stream->dependencies.push_back(node);
    }
  }
  return Result::kSuccess;
}

Result FakeState::cuEventCreate(CUevent* event, unsigned int flags) {
  CUcontext context = nullptr;
  if (const Result result = Current(&context); result != Result::kSuccess) {
    return result;
  }
  auto made = std::make_unique<CUevent_st>();
  made->context = context;
  made->timed = (flags & kEventDisableTiming) == 0;
  *event = made.get();
  events_.emplace(made.get(), std::move(made));
  return Result::kSuccess;
}

Result FakeState::cuEventDestroy(CUevent event) {
  if (!IsLive(events_, event)) return Result::kInvalidHandle;
  const Result lost = event->context->lost;
  events_.erase(event);
  return lost;
}

Result FakeState::cuEventRecord(CUevent event, CUstream stream) {
  if (!IsLive(events_, event)) return Result::kInvalidHandle;
  if (const Result result = Use(stream); result != Result::kSuccess) {
    return result;
  }
  if (event->context != stream->context) return Result::kInvalidHandle;
  event->capture = stream->capture;
  event->nodes = stream->dependencies;
  event->time = nullptr;
  if (event->timed && stream->capture == nullptr) {
    event->time = std::make_shared<int64_t>();
    stream->last = work_.Add({stream->last},
                             [this, time = event->time] { *time = clock_; });
  }
  event->task = stream->capture == nullptr ? stream->last : nullptr;
  return Result::kSuccess;
}

Result FakeState::cuEventElapsedTime(float* milliseconds, CUevent begin,
                                     CUevent end) {
  if (!IsLive(events_, begin) || !IsLive(events_, end) || !begin->timed ||
      !end->timed || begin->time == nullptr || end->time == nullptr) {
    return Result::kInvalidHandle;
  }
  for (const CUevent event : {begin, end}) {
    if (event->context->lost != Result::kSuccess) return event->context->lost;
    if (event->task != nullptr && !event->task->done) return Result::kNotReady;
  }
  *milliseconds = static_cast<float>(*end->time - *begin->time) * 1e-3f;
  return Result::kSuccess;
}

Result FakeState::cuEventSynchronize(CUevent event) {
  if (!IsLive(events_, event)) return Result::kInvalidHandle;
  if (event->capture != nullptr) {
    event->capture->invalid = true;
    return Result::kCapturedEvent;
  }
  work_.Wait(event->task);
  return event->context->lost;
}

}  // namespace encore::backends::cuda::fake
