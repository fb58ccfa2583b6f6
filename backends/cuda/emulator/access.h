// Memory as one lane sees it: every access is checked here.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_ACCESS_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_ACCESS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "encore/backends/cuda/emulator/module.h"
#include "encore/backends/cuda/emulator/warp.h"

namespace encore::ptx {

enum class AccessKind : uint8_t {
  kRead,
  kWrite,
  kAtomic,  // both, strong
  kArrive,  // what cp.async wrote becomes visible
};

// Where a lane's bytes are on the host; null after a violation, which is then
// recorded: out of bounds, misaligned, not initialized, in flight, a race.
// `address` is of `space`; generic addresses are resolved.
std::byte* Access(Warp& warp, const Instruction& i, uint32_t lane, Space space,
                  uint64_t address, uint32_t bytes, AccessKind kind);

// The space that a lane's address is of, and the address in that space.
struct Place {
  Space space = Space::kGlobal;
  uint64_t address = 0;
};
Place Resolve(Space space, uint64_t address);

// Addresses of an operand's lanes, with the offset of the instruction.
std::array<uint64_t, 32> Addresses(const Warp& warp, const Instruction& i,
                                   uint32_t operand, int which = 0);

// Adds an access of the lanes of `mask`, of `bytes` each, to the counters.
void CountAccess(Warp& warp, Space space,
                 const std::array<uint64_t, 32>& addresses, uint32_t mask,
                 uint32_t bytes, AccessKind kind);

// Memory order, for the detection of races. A fence orders what a warp did
// before it with what it publishes after it, and makes known what it read.
void Fence(Warp& warp);
// Around a strong access: `Acquire` after reading, `Publish` before writing; at
// once where the instruction has .acquire or .release, else with fences.
void Acquire(Warp& warp, const Instruction& i, Space space, uint64_t address);
void Publish(Warp& warp, const Instruction& i, Space space, uint64_t address);
bool IsStrong(const Instruction& i);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_ACCESS_H_
