// DeviceProfile: what is known of a GPU without having one, for choices and
// estimates.
#ifndef ENCORE_BACKENDS_CUDA_PROFILE_H_
#define ENCORE_BACKENDS_CUDA_PROFILE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "encore/backends/cuda/module_file.h"
#include "encore/backends/options.h"
#include "encore/backends/region/work.h"

namespace encore::backends::cuda {

struct DeviceProfile {
  std::string_view name;  // "h100", of a target "cuda:h100"
  Architecture architecture;
  int32_t multiprocessors = 0;
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t shared_bytes = 0;  // of a block, at most
  double clock = 0;          // Hz
  double bandwidth = 0;      // bytes of global memory per second
  int32_t lanes = 0;         // f32 operations of a multiprocessor per cycle

  // f32 operations per second, of which a fused one is two.
  double flops() const { return 2 * clock * multiprocessors * lanes; }
};

// The committed ones (profiles.def).
std::span<const DeviceProfile> AllProfiles();

// What a target is compiled for: the profile that it names, or that stands for
// its architecture; "cuda" alone is for every device, planned for the first.
const DeviceProfile& ProfileOf(const CompileOptions& options);

// Seconds of a launch that does so much: the roofline, and what a launch costs.
double LaunchSeconds(const DeviceProfile& profile, const Work& work);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_PROFILE_H_
