// A kernel linked with the functions that it calls, ready to run.
//
// Functions have frames at fixed places of a thread's local memory and
// registers of their own, which is why a function may not call itself, by
// detours either.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_PROGRAM_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_PROGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "encore/backends/cuda/emulator/module.h"

namespace encore::ptx {

// Device memory that a launch may use. The bytes are the caller's, or a loaded
// module's; kernels see them at `address`, which has nothing to do with where
// they lie on the host.
struct Allocation {
  uint64_t address = 0;
  std::span<std::byte> bytes;
  std::string name;  // for messages
  bool read_only = false;
  // Whether reading it before a kernel wrote is fine; see LaunchOptions.
  bool initialized = true;
};

struct Program {
  struct Copy {
    uint64_t from = 0;  // addresses in local memory
    uint64_t to = 0;
    uint64_t bytes = 0;
  };
  struct Call {
    uint32_t entry = 0;        // the callee's first instruction
    uint32_t return_slot = 0;  // where it finds the way back
    std::vector<Copy> arguments;
    std::vector<Copy> results;
  };

  std::string name;
  std::vector<Parameter> parameters;
  uint64_t parameter_bytes = 0;
  std::array<uint32_t, 3> required_threads = {};
  uint32_t most_threads = 0;
  uint32_t slots = 0;
  // Constants by slot, each for all lanes.
  std::vector<std::array<uint64_t, 32>> constants;
  std::vector<SpecialSlot> specials;
  std::vector<Instruction> code;  // ret: target is its return slot or kNoSlot
  std::vector<uint32_t> operands;
  std::vector<std::vector<uint32_t>> branch_tables;
  std::vector<Call> calls;
  uint64_t shared_bytes = 0;  // without the dynamic part, which comes behind
  uint64_t local_bytes = 0;
};

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_PROGRAM_H_
