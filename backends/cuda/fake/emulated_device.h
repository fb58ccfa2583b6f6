// The device of the target cuda:emulated: a CUDA device whose driver is the one
// that executes on the host. Slow, and only ever there where it is named.
#ifndef ENCORE_BACKENDS_CUDA_FAKE_EMULATED_DEVICE_H_
#define ENCORE_BACKENDS_CUDA_FAKE_EMULATED_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::backends::cuda {

// Its name as a backend: not that of any device that there is.
inline constexpr std::string_view kEmulatedBackend = "cuda_emulated";

// Of two of sm_90, which share one driver with all that are alive in the
// process; ENCORE_EMULATED_SEED, a number, is the seed of the order in which it
// does its work, 1 where it is not set. NotFound for other ordinals. REQUIRES
// that there is no FakeDriver of somebody else's.
StatusOr<std::unique_ptr<runtime::Device>> NewEmulatedDevice(uint32_t ordinal);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_FAKE_EMULATED_DEVICE_H_
