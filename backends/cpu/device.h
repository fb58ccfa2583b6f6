// The CPU as a runtime device: loads images and runs their kernels on the
// replay's thread pool. The half of the backend that a program needs which only
// replays: no LLVM, no graph.
#ifndef ENCORE_BACKENDS_CPU_DEVICE_H_
#define ENCORE_BACKENDS_CPU_DEVICE_H_

#include <cstdint>
#include <memory>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::backends::cpu {

// Load's errors: DataLoss for images and params that are not what they should
// be, and for an entry that the image does not have; FailedPrecondition for a
// CPU feature, a helper or a library that is missing or cannot be loaded;
// ResourceExhausted without memory. Cost of Load: a copy of each image.
std::unique_ptr<runtime::Device> NewCpuDevice();

// The same; NotFound for any ordinal but 0.
StatusOr<std::unique_ptr<runtime::Device>> NewDevice(uint32_t ordinal);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_DEVICE_H_
