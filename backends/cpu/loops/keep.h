// Values of a row that several stages compute, computed once.
#ifndef ENCORE_BACKENDS_CPU_LOOPS_KEEP_H_
#define ENCORE_BACKENDS_CPU_LOOPS_KEEP_H_

#include <optional>

#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

// `region` with a stage more, which keeps a row of what at least two stages
// compute of the same points and what takes longer than to store and load it:
// the exponentials of a softmax, which are summed and then divided. Nothing
// where there are none. The values are the same.
std::optional<Region> KeepRepeated(const Region& region);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_LOOPS_KEEP_H_
