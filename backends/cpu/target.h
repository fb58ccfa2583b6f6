// What the CPU backend compiles for, as the options say.
#ifndef ENCORE_BACKENDS_CPU_TARGET_H_
#define ENCORE_BACKENDS_CPU_TARGET_H_

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/profile/machine_profile.h"
#include "encore/backends/options.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cpu {

// InvalidArgument where the machine that the options name is none, or has
// another instruction set than their target names. The functions below take
// such options as if they named no machine.
Status CheckMachine(const CompileOptions& options);

// The instruction set that the target names ("cpu:avx2"), else that of the
// machine that is named, else the widest that this machine has.
Isa IsaOf(const CompileOptions& options);

// The machine that the options name, else the class nearest to this one; for
// IsaOf(options).
const MachineProfile& MachineOf(const CompileOptions& options);

// The CPU that is compiled for: this one, or what is known of the one that is
// named.
CpuInfo CpuOf(const CompileOptions& options);

// The vendor's library serves the machine that it runs on, and packs weights
// for it: not for a machine that is named and is another.
bool MayUseVendor(const CompileOptions& options);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_TARGET_H_
