// KernelSpec: all that a kernel is generated from, and its bytes, which are the
// key of a generated kernel in an ArtifactStore.
//
// The generator (kernel_generator.h) is given nothing but a spec. A thread
// count is not in it: schedules depend on the problem only. What it knows
// beside it is constant, so the compiler's identity stands for it, which stores
// add.
#ifndef ENCORE_BACKENDS_CPU_KERNEL_SPEC_H_
#define ENCORE_BACKENDS_CPU_KERNEL_SPEC_H_

#include <string>
#include <string_view>

#include "encore/backends/backend.h"
#include "encore/backends/cpu/cpu_features.h"

namespace encore::backends::cpu {

// A view: what it points to outlives it.
struct KernelSpec {
  KernelRequest kernel;
  // Candidate::kernel: the template, or the vendor's library.
  std::string_view candidate;
  Isa isa = Isa::kNone;
};

// Equal bytes for equal specs only, for the code generator and, where the spec
// names it, the vendor's library at hand, on a machine such as this one.
std::string Encode(const KernelSpec& spec);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_KERNEL_SPEC_H_
