#include "encore/backends/cuda/profile.h"

#include <algorithm>

namespace encore::backends::cuda {
namespace {

constexpr double kLaunchSeconds = 2.5e-6;
// A function such as exp counts as so many operations.
constexpr double kFunctionOperations = 16;

constexpr DeviceProfile kProfiles[] = {
#define ENCORE_PROFILE(name, major, minor, specific, multiprocessors, memory, \
                       l2, shared, clock_khz, memory_khz, bus_bits, lanes)    \
  {#name,                                                                     \
   {major, minor, specific},                                                  \
   multiprocessors,                                                           \
   memory,                                                                    \
   l2,                                                                        \
   shared,                                                                    \
   clock_khz * 1e3,                                                           \
   memory_khz * 1e3 * 2 * bus_bits / 8,                                       \
   lanes},
#include "encore/backends/cuda/profiles.def"
#undef ENCORE_PROFILE
};

}  // namespace

std::span<const DeviceProfile> AllProfiles() { return kProfiles; }

const DeviceProfile& ProfileOf(const CompileOptions& options) {
  const std::string_view target = options.target;
  const size_t colon = target.find(':');
  if (colon == std::string_view::npos) return kProfiles[0];
  const std::string_view variant = target.substr(colon + 1);
  const auto architecture = ParseArchitecture(variant);
  const auto found = std::ranges::find_if(kProfiles, [&](const auto& profile) {
    return profile.name == variant ||
           (architecture && profile.architecture == *architecture);
  });
  return found == std::end(kProfiles) ? kProfiles[0] : *found;
}

double LaunchSeconds(const DeviceProfile& profile, const Work& work) {
  const double operations =
      work.flops + work.transcendentals * (kFunctionOperations - 1);
  const double rate = profile.clock * profile.multiprocessors * profile.lanes;
  const double bytes = work.read_bytes + work.written_bytes;
  return kLaunchSeconds +
         std::max(bytes / profile.bandwidth, operations / rate);
}

}  // namespace encore::backends::cuda
