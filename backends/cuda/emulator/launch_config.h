// What a launch is asked to do, and how it is watched.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_LAUNCH_CONFIG_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_LAUNCH_CONFIG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace encore::ptx {

struct LaunchConfig {
  std::array<uint32_t, 3> grid = {1, 1, 1};   // blocks; x, y, z
  std::array<uint32_t, 3> block = {1, 1, 1};  // threads of a block
  uint64_t dynamic_shared_bytes = 0;
  // The kernel's parameters, each at its offset (Program::parameters).
  std::span<const std::byte> parameters;
};

struct LaunchOptions {
  // Of the order of warps and lanes, of what registers hold at first, and of
  // the errors of approximate instructions.
  uint64_t seed = 0;
  // Instructions of warps; more end the launch with an error.
  uint64_t most_steps = uint64_t{1} << 32;
  // Blocks that run at once. A kernel whose blocks wait for each other needs as
  // many as wait.
  uint32_t resident_blocks = 8;
  // Of a block, static and dynamic.
  uint64_t most_shared_bytes = 232448;
  bool check_races = true;
  // Whether reading a byte of an allocation that is not `initialized`, before a
  // kernel of this launch wrote it, is an error. (Of shared memory it always
  // is.)
  bool check_initialized_global = false;
  // Whether results of approximate instructions are off by up to their
  // documented error; else they are the nearest to the exact ones.
  bool perturb_approximations = true;
};

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_LAUNCH_CONFIG_H_
