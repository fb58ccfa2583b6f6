// CUDA devices with the kernels of runtime::TestDevice, for tests with the
// plans of the runtime's: another device's kernels, memory and queues, and
// kernels of testdata/plan_kernels.ptx, which are told the sizes of their
// buffers.
#ifndef ENCORE_BACKENDS_CUDA_TESTING_PLAN_DEVICE_H_
#define ENCORE_BACKENDS_CUDA_TESTING_PLAN_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "encore/backends/cuda/device.h"
#include "encore/backends/cuda/driver/driver.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::backends::cuda {

// Device `ordinal` of `driver` under the name `backend`. Besides TestDevice's
// kernels that a device may have: overrun (1 write: writes behind it) and
// checked (1 read, 1 write: a copy that reports elements below 0 as a fault of
// node 7).
StatusOr<std::unique_ptr<runtime::Device>> NewPlanDevice(
    std::shared_ptr<const Driver> driver, uint32_t ordinal,
    const std::string& backend, DeviceOptions options = {});

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_TESTING_PLAN_DEVICE_H_
