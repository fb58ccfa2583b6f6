// cp.async: copies that are under way, and when they arrive.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_OPS_ASYNC_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_OPS_ASYNC_H_

#include <cstddef>
#include <cstdint>

#include "encore/backends/cuda/emulator/warp.h"

namespace encore::ptx {

// Writes what a lane's committed copies carry, of all but its last
// `groups_left` groups; or what all of them carry.
void LandCopies(Warp& warp, uint32_t lane, size_t groups_left);
void LandAllCopies(Warp& warp, uint32_t lane);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_OPS_ASYNC_H_
