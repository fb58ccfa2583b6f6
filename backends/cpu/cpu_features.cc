#include "encore/backends/cpu/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

constexpr std::string_view kAvx2Features[] = {"avx2", "bmi2", "f16c", "fma"};
constexpr std::string_view kAvx512Features[] = {
    "avx2",     "avx512bw", "avx512cd", "avx512dq", "avx512f",
    "avx512vl", "bmi2",     "f16c",     "fma"};

std::vector<std::string> DetectFeatures() {
  std::vector<std::string> features;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const auto add = [&features](const char* name, int has) {
    if (has) features.push_back(name);
  };
  add("avx2", __builtin_cpu_supports("avx2"));
  add("avx512bw", __builtin_cpu_supports("avx512bw"));
  add("avx512cd", __builtin_cpu_supports("avx512cd"));
  add("avx512dq", __builtin_cpu_supports("avx512dq"));
  add("avx512f", __builtin_cpu_supports("avx512f"));
  add("avx512vl", __builtin_cpu_supports("avx512vl"));
  add("bmi2", __builtin_cpu_supports("bmi2"));
  add("f16c", __builtin_cpu_supports("f16c"));
  add("fma", __builtin_cpu_supports("fma"));
#endif
  return features;
}

bool HasAll(const std::vector<std::string>& features,
            std::span<const std::string_view> wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](std::string_view name) {
    return std::find(features.begin(), features.end(), name) != features.end();
  });
}

#if defined(__x86_64__)
// Family and model are in two parts each, of which the second counts for some
// families only (CPUID leaf 1, EAX).
void SetModel(CpuInfo* info) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return;
  char vendor[13] = {};
  std::memcpy(vendor, &b, 4);
  std::memcpy(vendor + 4, &d, 4);
  std::memcpy(vendor + 8, &c, 4);
  info->vendor = vendor;
  std::erase(info->vendor, ' ');  // some pad it: "  Shanghai  "
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return;
  const unsigned family = a >> 8 & 15;
  info->family = static_cast<int>(family == 15 ? 15 + (a >> 20 & 255) : family);
  info->model = static_cast<int>(a >> 4 & 15);
  if (family == 6 || family == 15) {
    info->model += static_cast<int>(a >> 16 & 15) * 16;
  }
}
#endif

void SetCacheSize(int name, int64_t* bytes) {
  const long size = sysconf(name);
  if (size > 0) *bytes = size;
}

CpuInfo Detect() {
  CpuInfo info;
  info.features = DetectFeatures();
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (HasAll(info.features, RequiredFeatures(isa))) info.isa = isa;
  }
  if (const char* wanted = std::getenv("ENCORE_CPU_ISA")) {
    info.isa = std::min(info.isa, ParseIsa(wanted).value_or(info.isa));
    std::erase_if(info.features, [&](const std::string& feature) {
      const auto kept = RequiredFeatures(info.isa);
      return std::find(kept.begin(), kept.end(), feature) == kept.end();
    });
  }
#if defined(__x86_64__)
  SetModel(&info);
#endif
  SetCacheSize(_SC_LEVEL1_DCACHE_SIZE, &info.l1_bytes);
  SetCacheSize(_SC_LEVEL2_CACHE_SIZE, &info.l2_bytes);
  SetCacheSize(_SC_LEVEL3_CACHE_SIZE, &info.l3_bytes);
  return info;
}

}  // namespace

std::string_view Name(Isa isa) {
  switch (isa) {
    case Isa::kNone:
      return "none";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "none";
}

std::optional<Isa> ParseIsa(std::string_view name) {
  for (const Isa isa : {Isa::kNone, Isa::kAvx2, Isa::kAvx512}) {
    if (Name(isa) == name) return isa;
  }
  return std::nullopt;
}

std::span<const std::string_view> RequiredFeatures(Isa isa) {
  if (isa == Isa::kAvx2) return kAvx2Features;
  if (isa == Isa::kAvx512) return kAvx512Features;
  return {};
}

std::string CpuInfo::Fingerprint() const {
  return StrCat(Name(isa), " l1=", l1_bytes, " l2=", l2_bytes,
                " l3=", l3_bytes);
}

const CpuInfo& HostCpu() {
  static const CpuInfo* const info = new CpuInfo(Detect());
  return *info;
}

Status CheckRequirements(std::span<const std::string> requirements) {
  const std::vector<std::string>& features = HostCpu().features;
  for (const std::string& name : requirements) {
    if (std::find(features.begin(), features.end(), name) == features.end()) {
      return FailedPreconditionError(
          StrCat("the program needs the CPU feature ", name,
                 ", which this machine does not have"));
    }
  }
  return OkStatus();
}

}  // namespace encore::backends::cpu
