// Text of a region, for people.
//
//   region vars=[128,64|64] symbols=0
//     in0 f32[128,64]
//     out0 f32[128,64]
//     %0 = f32 load in0[v0, v1]
//     …
//     reduce s0 max over [v1] of %0 : f32
//     map loops=[v1] out0[v0, v1] = %4
#ifndef ENCORE_BACKENDS_REGION_TEXT_H_
#define ENCORE_BACKENDS_REGION_TEXT_H_

#include <string>

#include "encore/backends/region/layout.h"
#include "encore/backends/region/region.h"

namespace encore::backends {

// Deterministic: equal regions have equal texts.
std::string ToText(const Region& region);
// "row-major", "order=[0,2,3,1]", "blocks=[8@1]", or both.
std::string ToText(const Layout& layout);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_TEXT_H_
