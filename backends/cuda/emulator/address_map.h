// Where the emulator puts what has an address.
//
// Generic addresses: each space but the global one is seen through a window.
// Shared and local memory begin above address 0 of their own, so that an
// address of zeros is none.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_ADDRESS_MAP_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_ADDRESS_MAP_H_

#include <cstdint>

#include "encore/backends/cuda/emulator/types.h"

namespace encore::ptx {

inline constexpr uint64_t kWindowBytes = uint64_t{1} << 24;
inline constexpr uint64_t kSharedWindow = 0x7f00'0000'0000;
inline constexpr uint64_t kLocalWindow = 0x7f00'1000'0000;
inline constexpr uint64_t kParamWindow = 0x7f00'2000'0000;
inline constexpr uint64_t kSharedBegin = 1024;
inline constexpr uint64_t kLocalBegin = 1024;

// What is added to an address of `space` for its generic address.
inline uint64_t WindowOf(Space space) {
  switch (space) {
    case Space::kShared:
      return kSharedWindow;
    case Space::kLocal:
      return kLocalWindow;
    case Space::kParam:
      return kParamWindow;
    default:
      return 0;
  }
}

// The space that a generic address points into; kGlobal for all but windows.
inline Space SpaceAt(uint64_t address) {
  if (address - kSharedWindow < kWindowBytes) return Space::kShared;
  if (address - kLocalWindow < kWindowBytes) return Space::kLocal;
  if (address - kParamWindow < kWindowBytes) return Space::kParam;
  return Space::kGlobal;
}

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_ADDRESS_MAP_H_
