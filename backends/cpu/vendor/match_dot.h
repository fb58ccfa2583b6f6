// Sums of products that are (batched, strided) matrix products.
#ifndef ENCORE_BACKENDS_CPU_VENDOR_MATCH_DOT_H_
#define ENCORE_BACKENDS_CPU_VENDOR_MATCH_DOT_H_

#include <optional>
#include <vector>

#include "encore/backends/cpu/vendor/contraction.h"
#include "encore/backends/cpu/vendor/sum_region.h"

namespace encore::backends::cpu {

// `weights`: inputs that may be packed.
std::optional<VendorContraction> MatchDot(const SumRegion& sum,
                                          const std::vector<bool>& weights);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_VENDOR_MATCH_DOT_H_
