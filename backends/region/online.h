// Reductions of a row that read one another as one that runs along it once.
//
//   the maximum m of x, and the sum of e^(x - m)            kOnlineSoftmax
//   the sum s of n values x, and that of (x - s / n)^2      kWelford
//
// So a softmax or norm of rows that are too long to keep is two passes, not
// three. Rounds otherwise than the two sums.
//
// Source: M. Milakov, N. Gimelshein, Online normalizer calculation for softmax,
// 2018; T. Chan, G. Golub, R. LeVeque, Updating formulae and a pairwise
// algorithm for computing sample variances, 1979.
#ifndef ENCORE_BACKENDS_REGION_ONLINE_H_
#define ENCORE_BACKENDS_REGION_ONLINE_H_

#include <optional>

#include "encore/backends/region/region.h"

namespace encore::backends {

// The region with each such pair of stages as one; nothing where it has none,
// or has a contraction. Inputs, outputs, variables and checks stay as they are.
std::optional<Region> WithOnlineReductions(const Region& region);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_ONLINE_H_
