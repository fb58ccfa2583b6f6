// What a launch did.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_COUNTERS_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_COUNTERS_H_

#include <array>
#include <cstdint>
#include <string>

#include "encore/backends/cuda/emulator/opcodes.h"
#include "encore/backends/cuda/emulator/types.h"

namespace encore::ptx {

struct Counters {
  // Bytes of all lanes, by Space; accesses through generic addresses count for
  // the space they reach, atomics as both.
  std::array<uint64_t, 6> bytes_read = {};
  std::array<uint64_t, 6> bytes_written = {};
  // By InstructionClass: executed by a warp; by all its lanes.
  std::array<uint64_t, static_cast<size_t>(InstructionClass::kCount)>
      warp_instructions = {};
  std::array<uint64_t, static_cast<size_t>(InstructionClass::kCount)>
      thread_instructions = {};
  // Loads, stores and atomics of global memory by a warp, and the sectors of 32
  // bytes that they touch: 4 a request where 32 lanes use words in a row.
  uint64_t global_requests = 0;
  uint64_t global_sectors = 0;
  // Loads and stores of shared memory by a warp, and the passes they take: 32
  // banks of a word each give one word each a pass. As many as
  // `shared_least_passes` are needed for that many bytes; more are conflicts.
  uint64_t shared_requests = 0;
  uint64_t shared_passes = 0;
  uint64_t shared_least_passes = 0;
  uint64_t barriers = 0;  // of a warp
  uint64_t divergent_branches = 0;
  uint64_t steps = 0;  // warp instructions, all in all

  uint64_t BankConflicts() const { return shared_passes - shared_least_passes; }
  // A line for each that is not zero.
  std::string ToString() const;
};

// Sectors of 32 bytes and passes over shared banks that the lanes of `mask`
// need for `bytes` (1 to 32) at their addresses each.
uint64_t CountSectors(const std::array<uint64_t, 32>& addresses, uint32_t mask,
                      uint32_t bytes);
struct SharedPasses {
  uint64_t passes = 0;
  uint64_t least = 0;
};
SharedPasses CountSharedPasses(const std::array<uint64_t, 32>& addresses,
                               uint32_t mask, uint32_t bytes);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_COUNTERS_H_
