// DeviceProfile: what is known of a GPU without having one, for choices and
// estimates. Those of profiles.def are known by name, others are files.
//
// A file is a JSON object with exactly these fields, all but `name` and
// `architecture` whole numbers:
//
//   {"name": "h100", "architecture": "sm_90a", "multiprocessors": 132,
//    "memory_bytes": 84942979072, "l2_bytes": 52428800,
//    "shared_bytes": 232448, "clock_khz": 1980000, "memory_khz": 2619000,
//    "bus_bits": 5120, "lanes": 128}
#ifndef ENCORE_BACKENDS_CUDA_PROFILE_H_
#define ENCORE_BACKENDS_CUDA_PROFILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "encore/backends/cuda/module_file.h"
#include "encore/backends/options.h"
#include "encore/backends/region/work.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cuda {

struct DeviceProfile {
  std::string name;  // "h100", of a target "cuda:h100"
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
  // All of it, equal for equal profiles only.
  std::string ToString() const;
};

// The committed ones (profiles.def).
std::span<const DeviceProfile> AllProfiles();

// The profile that a file's text says. InvalidArgument names the field that is
// missing, unknown or out of its range. Safe on any text.
StatusOr<DeviceProfile> ParseProfile(std::string_view json);

// What may follow "cuda:" beside a device's number: a profile's name, an
// architecture that kernels can be compiled for (sm_80, sm_90a), or the path of
// a profile, which ends in .json and has no comma. A file is read once, when it
// is first asked for: later changes show in a new process. InvalidArgument, or
// the file's errors, name what is wrong; NotFound where it is none of these.
// Thread-safe.
StatusOr<DeviceProfile> FindProfile(std::string_view variant);

// What a target is compiled for: the profile that it names, or the one nearest
// to its architecture; "cuda" alone, and what FindProfile refuses, is for every
// device and planned for the first.
DeviceProfile ProfileOf(const CompileOptions& options);

// Seconds of a launch that does so much: the roofline, and what a launch costs.
double LaunchSeconds(const DeviceProfile& profile, const Work& work);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_PROFILE_H_
