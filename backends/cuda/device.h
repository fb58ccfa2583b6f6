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

// Of another driver; `backend` is the device's name.
StatusOr<std::unique_ptr<runtime::Device>> NewDevice(
    std::shared_ptr<const Driver> driver, uint32_t ordinal,
    std::string backend);

// A queue of `device`, one of the above, that is the caller's `stream`, of the
// same context, which outlives it: replays enqueued there come after what is in
// it. InvalidArgument where the device is none of CUDA's.
StatusOr<std::unique_ptr<runtime::Queue>> QueueOf(runtime::Device& device,
                                                  CUstream stream);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_DEVICE_H_
