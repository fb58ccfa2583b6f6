// A CUDA device as a runtime device: memory, streams and kernels of NVIDIA's
// driver. The half of the backend that a program needs which only replays: no
// compiler, no toolkit, and no driver until a device is asked for.
//
// It has four queues, each a stream; two are for copies. Work is recorded as
// graphs of the driver. Kernels report checks that do not hold in pinned
// memory, which is looked at when their work is waited for. An error of the
// driver's names the call and its number; after one that loses the device all
// later calls fail, other devices go on.
#ifndef ENCORE_BACKENDS_CUDA_DEVICE_H_
#define ENCORE_BACKENDS_CUDA_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "encore/backends/cuda/driver/driver.h"
#include "encore/backends/cuda/driver/types.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::backends::cuda {

// Device `ordinal` of NVIDIA's driver, in its primary context. NotFound where
// there is no driver or no such device, FailedPrecondition where the driver is
// too old or the device is; both say what would help.
StatusOr<std::unique_ptr<runtime::Device>> NewDevice(uint32_t ordinal);

// What recorded control flow over work of the device alone is decided by
// conditional nodes of its graphs, rather than by the host. A loop of such
// nodes is one launch that goes on until its selector is false:
// Replayer::Cancel does not end it, nor does a check that does not hold in a
// trip, so that one without an end holds its stream for good.
enum class Decides : uint8_t {
  kNothing,
  kBranches,  // If
  kLoops,     // While too
};

// What a device is made of, beside its driver.
struct DeviceOptions {
  // cuBLASLt's shared library, opened when a program with a recipe
  // (library/recipe.h) is loaded: a path, or a name that the dynamic linker
  // looks for. Empty: none, and such programs run their generated kernels.
  std::string cublaslt = {};
  // CUPTI's shared library, opened when work is first timed (profiler.h): a
  // path, or a name that the dynamic linker looks for. Empty: none; work is
  // then timed by events, as where the library is not there or does not answer.
  // It takes CUPTI's activities for the whole process, from other profilers in
  // it: NewDevice(ordinal) has one only where ENCORE_CUPTI names it.
  std::string cupti = {};
  Decides decides = Decides::kBranches;
  // A context of the caller's, of the device, that outlives this; null: the
  // primary one, which programs that use the runtime API have, PyTorch's among
  // them. Libraries know that one alone.
  CUcontext context = nullptr;
  // Where device memory is from, both or neither: bytes >= 1, addresses that
  // are multiples of runtime::kAlignment, ResourceExhausted where there is no
  // more; what is given back is used by no work any more. They are called with
  // the context current, by any thread. Empty: the driver's own.
  std::function<StatusOr<void*>(int64_t bytes)> allocate = nullptr;
  std::function<void(void* data, int64_t bytes)> deallocate = nullptr;
};

// Of another driver; `backend` is the device's name. InvalidArgument for an
// allocator of which only one half is there.
StatusOr<std::unique_ptr<runtime::Device>> NewDevice(
    std::shared_ptr<const Driver> driver, uint32_t ordinal, std::string backend,
    DeviceOptions options = {});

// A queue of `device`, one of the above, that is the caller's `stream`, of the
// same context, which outlives it: replays enqueued there come after what is in
// it. InvalidArgument where the device is none of CUDA's.
StatusOr<std::unique_ptr<runtime::Queue>> QueueOf(runtime::Device& device,
                                                  CUstream stream);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_DEVICE_H_
