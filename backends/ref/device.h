// The ref backend's device: runs regions through the interpreter, on a memory
// pool of its own, so that graphs cross pools wherever a test wants them to.
#ifndef ENCORE_BACKENDS_REF_DEVICE_H_
#define ENCORE_BACKENDS_REF_DEVICE_H_

#include <cstdint>
#include <memory>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::backends::ref {

// A program's artifact is an encoded region (region/codec.h), its args are the
// region's symbols. NotFound for an ordinal above 0.
StatusOr<std::unique_ptr<runtime::Device>> NewDevice(uint32_t ordinal);

}  // namespace encore::backends::ref

#endif  // ENCORE_BACKENDS_REF_DEVICE_H_
