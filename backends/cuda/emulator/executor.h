// Runs a warp's instructions: program counters, divergence, barriers.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_EXECUTOR_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_EXECUTOR_H_

#include <cstdint>

#include "encore/backends/cuda/emulator/warp.h"

namespace encore::ptx {

// Runs at most `steps` instructions of `warp`, which has a runnable lane, until
// none has. Of lanes that have diverged, those with the lowest program counter
// go first, which brings them together again behind branches and loops; now and
// then others are drawn, so that lanes that wait for others do not wait
// forever. A violation is recorded in the launch.
void Run(Warp& warp, uint64_t steps);

// What a warp waits for, of which no lane can run.
void FailStuck(Warp& warp);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_EXECUTOR_H_
