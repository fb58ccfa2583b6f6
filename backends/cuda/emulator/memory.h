// The global memory of a launch: the allocations it may use, and what is known
// of their bytes.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_MEMORY_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/emulator/program.h"
#include "encore/backends/cuda/emulator/shadow.h"
#include "encore/ir/support/status.h"

namespace encore::ptx {

// A piece of memory with addresses of its own.
struct Region {
  uint64_t address = 0;
  std::byte* bytes = nullptr;
  uint64_t size = 0;
  bool read_only = false;
  std::string_view name;
  Shadow shadow;

  bool Contains(uint64_t at, uint64_t count) const {
    return at >= address && count <= size && at - address <= size - count;
  }
};

class GlobalMemory {
 public:
  // InvalidArgument where two allocations overlap, one is not aligned to 256
  // bytes, or lies in a window of another space.
  Status Add(std::span<const Allocation> allocations, bool check_initialized);

  // The region that `at` is in; null where it is in none.
  Region* Find(uint64_t at);

  // The last allocation that begins at `at` or before it, for messages; null
  // where there is none.
  const Region* Before(uint64_t at) const;

 private:
  std::vector<Region> regions_;  // by address
  size_t last_ = 0;
};

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_MEMORY_H_
