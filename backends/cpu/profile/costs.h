// Costs that are fitted to measurements, by machine class; costs.def has the
// table.
#ifndef ENCORE_BACKENDS_CPU_PROFILE_COSTS_H_
#define ENCORE_BACKENDS_CPU_PROFILE_COSTS_H_

#include <cstdint>

#include "encore/backends/cpu/profile/machine_profile.h"

namespace encore::backends::cpu {

// Templates of generated kernels, by what their counts of cycles miss.
enum class Template : uint8_t {
  kLoops,         // with an outer variable along the lanes
  kInnerLoops,    // with a variable of each stage's own
  kProductLoops,  // the same two, of sums of products
  kInnerProductLoops,
  kReductionTiles,  // of sums of anything else
  kTiles,           // of products, read in place
  kPackedTiles,     // with panels
  kStagedTiles,
  kPlaneTiles,
  kWinograd,
  kWindowTiles,  // that read windows where they lie
};
inline constexpr int kTemplates = 11;

// Seconds of a cycle of a template's schedules on one core.
double CycleSeconds(Template kind, const MachineProfile& machine);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_PROFILE_COSTS_H_
