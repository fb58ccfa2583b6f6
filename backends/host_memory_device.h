// The device of a backend whose kernels run in host memory and are loaded one
// at a time: host's and ref's.
#ifndef ENCORE_BACKENDS_HOST_MEMORY_DEVICE_H_
#define ENCORE_BACKENDS_HOST_MEMORY_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::backends {

// Makes the kernel of one request.
using KernelLoader =
    StatusOr<std::unique_ptr<runtime::Kernel>> (*)(const runtime::LoadRequest&);

// The backend's only device: NotFound where `ordinal` is not 0.
StatusOr<std::unique_ptr<runtime::Device>> NewHostMemoryDevice(
    std::string_view backend, uint32_t ordinal, KernelLoader load);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_HOST_MEMORY_DEVICE_H_
