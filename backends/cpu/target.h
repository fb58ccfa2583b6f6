// What the CPU backend compiles for, as the options say.
#ifndef ENCORE_BACKENDS_CPU_TARGET_H_
#define ENCORE_BACKENDS_CPU_TARGET_H_

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/options.h"

namespace encore::backends::cpu {

// The instruction set that the target names ("cpu:avx2"), else the widest that
// this machine has.
Isa IsaOf(const CompileOptions& options);

// Threads that are given, else those of this machine.
int ThreadsOf(const CompileOptions& options);

// The vendor's library serves the machine that it runs on, and packs weights
// for it.
bool MayUseVendor(const CompileOptions& options);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_TARGET_H_
