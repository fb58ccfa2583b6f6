// Transposed convolutions as dense ones.
//
// A convolution with lhs_dilation s multiplies mostly by the zeros between the
// elements. Its results at positions s * a + b, for each phase b in [0, s),
// are a convolution without dilation with every s-th tap of the kernel; all
// phases together are one convolution with s times the filters per dim, whose
// results are interleaved (Shi et al., "Real-Time Single Image and Video
// Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural Network",
// 2016).
#ifndef ENCORE_OPT_PASSES_SUBPIXEL_H_
#define ENCORE_OPT_PASSES_SUBPIXEL_H_

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::opt {

// The graph with such convolutions replaced, in bodies as well, where all
// phases have the same taps: no stride, a kernel extent that is a multiple of
// s, and a low padding that is s - 1 modulo s. Others stay. Results are the
// same sums in the same order without the terms that are zero.
StatusOr<Graph> SubpixelConvolutions(const Graph& graph);

}  // namespace encore::opt

#endif  // ENCORE_OPT_PASSES_SUBPIXEL_H_
