#include "encore/backends/options.h"

#include <array>

namespace encore::backends {
namespace {

constexpr std::array<std::string_view, 4> kPrecisions = {"f32", "tf32", "bf16",
                                                         "f16"};
constexpr std::array<std::string_view, 3> kRewrites = {"exact", "reassociate",
                                                       "fast"};
constexpr std::array<std::string_view, 3> kCpuKernels = {"auto", "generated",
                                                         "vendor"};

template <typename Enum, size_t N>
std::optional<Enum> Find(const std::array<std::string_view, N>& names,
                         std::string_view text) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view Name(Precision precision) {
  return kPrecisions[static_cast<size_t>(precision)];
}
std::string_view Name(Rewrites rewrites) {
  return kRewrites[static_cast<size_t>(rewrites)];
}
std::string_view Name(CpuKernels kernels) {
  return kCpuKernels[static_cast<size_t>(kernels)];
}
std::optional<Precision> ParsePrecision(std::string_view text) {
  return Find<Precision>(kPrecisions, text);
}
std::optional<Rewrites> ParseRewrites(std::string_view text) {
  return Find<Rewrites>(kRewrites, text);
}
std::optional<CpuKernels> ParseCpuKernels(std::string_view text) {
  return Find<CpuKernels>(kCpuKernels, text);
}

}  // namespace encore::backends
