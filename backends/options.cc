#include "encore/backends/options.h"

#include <algorithm>
#include <array>
#include <thread>

namespace encore::backends {
namespace {

constexpr std::array<std::string_view, 4> kPrecisions = {"f32", "tf32", "bf16",
                                                         "f16"};
constexpr std::array<std::string_view, 4> kRewrites = {"none", "exact",
                                                       "reassociate", "fast"};
constexpr std::array<std::string_view, 3> kCpuKernels = {"auto", "generated",
                                                         "vendor"};
constexpr std::array<std::string_view, 3> kCudaKernels = {"generated",
                                                          "library", "all"};
constexpr std::array<std::string_view, 2> kOptimizers = {"egraph", "greedy"};
constexpr std::array<std::string_view, 2> kPorts = {"host", "device"};

}  // namespace

template <>
std::span<const std::string_view> ValueNames<Precision>() {
  return kPrecisions;
}
template <>
std::span<const std::string_view> ValueNames<Rewrites>() {
  return kRewrites;
}
template <>
std::span<const std::string_view> ValueNames<CpuKernels>() {
  return kCpuKernels;
}
template <>
std::span<const std::string_view> ValueNames<CudaKernels>() {
  return kCudaKernels;
}
template <>
std::span<const std::string_view> ValueNames<Optimizer>() {
  return kOptimizers;
}
template <>
std::span<const std::string_view> ValueNames<Ports>() {
  return kPorts;
}

int PlannedThreads(const CompileOptions& options) {
  const int64_t threads = options.threads > 0
                              ? options.threads
                              : int64_t{std::thread::hardware_concurrency()};
  return static_cast<int>(std::clamp<int64_t>(threads, 1, 1024));
}

}  // namespace encore::backends
