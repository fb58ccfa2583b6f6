// The device "host": host memory, and kernels on strings, sequences and
// optionals. Every backend's compiled graphs use it for these.
#ifndef ENCORE_BACKENDS_HOST_DEVICE_H_
#define ENCORE_BACKENDS_HOST_DEVICE_H_

#include <cstdint>
#include <memory>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::backends::host {

// NotFound where `ordinal` is not 0.
StatusOr<std::unique_ptr<runtime::Device>> NewDevice(uint32_t ordinal);

}  // namespace encore::backends::host

#endif  // ENCORE_BACKENDS_HOST_DEVICE_H_
