// What the CPU at hand can do, and what generated code may ask of it.
//
// Code is generated for an Isa, a named set of features. A compiled program
// carries the features as requirements (KernelBinary::requirements), and the
// device checks them against the machine at load.
#ifndef ENCORE_BACKENDS_CPU_CPU_FEATURES_H_
#define ENCORE_BACKENDS_CPU_CPU_FEATURES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"

namespace encore::backends::cpu {

enum class Isa : uint8_t {
  kNone,    // below AVX2: nothing is generated
  kAvx2,    // AVX2, FMA, F16C, BMI2
  kAvx512,  // AVX-512 F, BW, CD, DQ, VL beside those
};

// "avx2"; the target's "isa" ingredient.
std::string_view Name(Isa isa);
std::optional<Isa> ParseIsa(std::string_view name);
// Features that code for `isa` needs, by the names of /proc/cpuinfo.
std::span<const std::string_view> RequiredFeatures(Isa isa);
// Bits of the widest vector register that code for `isa` uses.
inline int VectorBits(Isa isa) { return isa == Isa::kAvx512 ? 512 : 256; }

struct CpuInfo {
  Isa isa = Isa::kNone;               // the widest that the machine has
  std::vector<std::string> features;  // sorted, those of any Isa
  // As CPUID says them: "AuthenticAMD" 25 17; empty and 0 on other machines.
  std::string vendor;
  int family = 0, model = 0;
  // Data cache sizes of a core in bytes; defaults where the system does not
  // say.
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;
  int64_t l3_bytes = 16 << 20;

  // "avx512 l1=32768 l2=1048576 l3=33554432": what the vendor's library looks
  // at.
  std::string Fingerprint() const;
};

// Asked once; thread-safe. The environment variable ENCORE_CPU_ISA ("avx2")
// makes it a machine of that ISA and no more, for measuring and testing; it
// cannot raise it.
const CpuInfo& HostCpu();

// FailedPrecondition names the first of `requirements` that the machine lacks.
Status CheckRequirements(std::span<const std::string> requirements);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CPU_FEATURES_H_
