// Runs kernels of PTX on the host, checking each step.
//
//   auto module = ParseModule(text);
//   auto loaded = LoadedModule::Load(*std::move(module), 0x1'0000'0000);
//   auto kernel = (*loaded)->Kernel("vector_add");
//   Counters counters;
//   Status status = Launch(**kernel, config, allocations, options, &counters);
//
// Blocks and warps take turns in an order drawn from a seed; the lanes of a
// warp run in lockstep where they are at the same instruction, and each has a
// program counter of its own. Single-threaded; two launches may run at once
// where they share no writable memory. The same arguments give the same result,
// bit by bit.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_LAUNCH_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_LAUNCH_H_

#include <span>

#include "encore/backends/cuda/emulator/counters.h"
#include "encore/backends/cuda/emulator/launch_config.h"
#include "encore/backends/cuda/emulator/program.h"
#include "encore/ir/support/status.h"

namespace encore::ptx {

// InvalidArgument for a launch that no device would take; FailedPrecondition
// for what a kernel does wrong: the message names kernel, line of the PTX,
// thread, block and address. ResourceExhausted where `most_steps` are used up.
// What a kernel had written until then stays written. `counters` may be null,
// and is set in any case.
Status Launch(const Program& program, const LaunchConfig& config,
              std::span<const Allocation> allocations,
              const LaunchOptions& options, Counters* counters);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_LAUNCH_H_
