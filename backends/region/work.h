// How much a region computes and moves: what cost models are made of.
#ifndef ENCORE_BACKENDS_REGION_WORK_H_
#define ENCORE_BACKENDS_REGION_WORK_H_

#include <cstdint>
#include <span>

#include "encore/backends/region/region.h"

namespace encore::backends {

struct Work {
  double flops = 0;  // elementwise operations and combinations, one each
  double transcendentals = 0;    // of these: exp, log, tanh, …
  double contraction_flops = 0;  // of these: of contractions, 2 a product
  // Each input element that is read, once, with its share of the padding.
  double read_bytes = 0;
  double written_bytes = 0;  // each stored element, and the padding
};

// Under `symbols[i]` for symbol i of the region; REQUIRES values for all.
Work EstimateWork(const Region& region, std::span<const int64_t> symbols);

// Values in the middle of the symbols' bounds, where these are finite, else
// near the lower one: what to plan for while sizes are unknown.
std::vector<int64_t> TypicalSizes(std::span<const Symbol> symbols);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_WORK_H_
