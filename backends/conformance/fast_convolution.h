// What a convolution by a fast algorithm may lose of its results.
//
// Algorithms with fewer products (Winograd's) transform blocks of the data and
// the filters, multiply point by point, sum over channels, and transform back.
// Single terms then have no bound of their own: as for all fast bilinear
// algorithms the bound is in norms. With data d of an image, filters g, u the
// unit roundoff of f32 and the algorithm's `growth` and `roundings`,
//
//   |computed - exact| <= gamma(k) growth sum over channels c of
//                           (max |d_c|) (sum of |g_c| over the window)
//   gamma(k) = k u / (1 - k u),  k = channels + roundings
//
// since each product of a tap and an element goes through at most `roundings`
// in the transforms, one rounding of the product, and channels - 1 of the sum
// over channels, and the sum of the magnitudes of what it is taken apart into
// is at most `growth` times the product.
//
// An infinite or NaN element makes NaN of what a block has of it: of an image
// that has one nothing is claimed, nor where the bound is beyond f32.
//
// Source: N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
// section 23.2.2 for bilinear algorithms and lemma 3.1; for Winograd's,
// B. Barabasz et al. (2020), theorem 1.
#ifndef ENCORE_BACKENDS_CONFORMANCE_FAST_CONVOLUTION_H_
#define ENCORE_BACKENDS_CONFORMANCE_FAST_CONVOLUTION_H_

#include <span>

#include "encore/backends/conformance/interval.h"

namespace encore::backends {

struct FastConvolution {
  // Over the points p of the transforms A, B, G, in all dims: the largest of
  // sum over p of |A_ip| |G_ps| sum over j of |B_pj|.
  double growth = 1;
  // In the transforms of data, filters and results, and of the product.
  int roundings = 0;
};

// `direct`, what a convolution may give that sums its terms, with what a fast
// one may. `operands`: its data and filters. REQUIRES f32 and one group.
Interval WithFast(const Interval& direct, std::span<const Interval> operands,
                  const FastConvolution& fast);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_FAST_CONVOLUTION_H_
