// Random graphs of what depends on where an element is.
//
// Padded, cut, strided, reversed and concatenated tensors and ones that are
// selected by comparisons of positions: sums, differences and products of iotas
// and constants, in every dtype of whole numbers, of which many lie where these
// wrap around. Code that decides such comparisons for ranges of positions, or
// that leaves out checks of what is in range, is wrong on some of them where it
// forgets that.
#ifndef ENCORE_BACKENDS_CONFORMANCE_POSITION_GRAPH_H_
#define ENCORE_BACKENDS_CONFORMANCE_POSITION_GRAPH_H_

#include <cstdint>

#include "encore/ir/graph/graph.h"

namespace encore::backends {

struct PositionGraphOptions {
  int64_t most_elements = 2000;  // of a tensor
  // Whether rows or windows are reduced.
  bool reduced = true;
};
// Of up to three dims, in primitives, with one output: f32, and where
// `reduced`, sums or maxima of rows, which may be subtracted from these, or of
// windows. The same for the same seed; not simplified.
Graph PositionGraph(uint64_t seed, const PositionGraphOptions& options = {});

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_POSITION_GRAPH_H_
