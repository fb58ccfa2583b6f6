// MachineProfile: what a machine does in a second, by which kernels are
// estimated and chosen.
//
// A machine class is a profile with a name that is committed, in machines.txt:
// CPUs of one vendor, family and range of models, as code for one instruction
// set sees them. `encore tune --machine` measures a profile of the machine at
// hand (measure.h). Of the classes zen5's are measured so; zen4's are round
// figures, since no such machine was at hand. Both are text of one form, a line
// per field:
//
//   machine NAME
//   cpu VENDOR FAMILY FIRST_MODEL LAST_MODEL
//   isa avx2|avx512
//   caches L1 L2 L3                  bytes of data that a core has of each
//   cores N                          that `all` below stands for
//   f32 G        f64 G               GFLOP/s of one core's multiply-adds
//   l1 ONE ALL   l2 …   l3 …         GB/s of a core, and of all together, of
//   memory ONE ALL                   reads and writes in equal parts
//   dispatch NS                      of a launch on one thread
//   wake NS                          of a launch on several, beside that
//   costs CLASS                      whose fitted costs hold (costs.def)
//
// Plans depend on the whole profile, so its text is an ingredient of the key.
#ifndef ENCORE_BACKENDS_CPU_PROFILE_MACHINE_PROFILE_H_
#define ENCORE_BACKENDS_CPU_PROFILE_MACHINE_PROFILE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cpu {

// Bytes of a profile's text at most.
inline constexpr size_t kMostMachineBytes = 4096;

enum class MemoryLevel : uint8_t { kL1, kL2, kL3, kMemory };
inline constexpr int kMemoryLevels = 4;

struct MachineProfile {
  struct Bandwidth {
    double one = 0, all = 0;  // bytes per second
    bool operator==(const Bandwidth&) const = default;
  };

  std::string name;
  std::string vendor;  // CpuInfo::vendor
  int family = 0, first_model = 0, last_model = 0;
  Isa isa = Isa::kAvx2;
  std::array<int64_t, 3> cache_bytes = {};  // of L1, L2, L3
  int cores = 1;
  double f32_flops = 0, f64_flops = 0;  // per second
  std::array<Bandwidth, kMemoryLevels> bandwidth = {};
  double dispatch_seconds = 0, wake_seconds = 0;
  std::string costs;

  bool operator==(const MachineProfile&) const = default;

  int64_t cache(MemoryLevel level) const {
    return cache_bytes[static_cast<size_t>(level)];
  }
  // Bytes per second that so many threads get from a level.
  double BytesPerSecond(MemoryLevel level, int threads) const;
  // Vector multiply-adds of f32 per second of a core.
  double VectorsPerSecond() const { return f32_flops / (VectorBits(isa) / 16); }
  // Whether it describes that CPU, used with this profile's instruction set.
  bool Covers(const CpuInfo& cpu) const;
};

// The committed classes, in the order of machines.txt; they live as long as the
// process.
std::span<const MachineProfile> MachineClasses();
// The class of that name; null where there is none.
const MachineProfile* FindMachineClass(std::string_view name);

// The class of `cpu` for code of `isa`; where no class covers it the nearest of
// that instruction set: of the same vendor first, then by family, then by
// model.
const MachineProfile& NearestClass(const CpuInfo& cpu, Isa isa);

// `profile` as the profile of another CPU: its numbers under that CPU's name,
// vendor, family and model. For tests, whose plans shall not depend on the CPU
// that they run on.
MachineProfile AsIf(const MachineProfile& profile, const CpuInfo& cpu);

// The one spelling of a profile; equal texts for equal profiles only.
std::string ToText(const MachineProfile& profile);
// The same in one line: "machine zen4-avx2; cpu …".
std::string ToLine(const MachineProfile& profile);
// One profile. InvalidArgument, "line N: …", names what is wrong, also where a
// number is beyond what any machine has.
StatusOr<MachineProfile> ParseMachine(std::string_view text);

// The profile that the option `machine` names: a class, or a text in the form
// above; it lives as long as the process. InvalidArgument names the classes
// where there is none of that name. Thread-safe; each text is parsed once.
StatusOr<const MachineProfile*> FindMachine(const std::string& option);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_PROFILE_MACHINE_PROFILE_H_
