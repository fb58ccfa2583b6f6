// Random graphs and arguments for them, the same for the same seed everywhere.
//
// Every op of the table but Custom is drawn, in every dtype of its row, with
// odd shapes (scalars, extents of 0, 1 and primes, broadcasts), several
// outputs, and bodies for If, While, Loop and Scan.
//
// Floats stay away from discontinuities, so that two implementations may be
// compared with a tolerance: ops that jump (floor, sign, compare, casts to
// integers, arg_reduce, rem, …) or leave their domain or grow fast (log, exp,
// pow, div, …) take arguments and constants, never computed floats, and of two
// factors one is not computed. Arguments are small multiples of 1/32. NaN and
// infinities appear where an op makes them.
#ifndef ENCORE_IR_TESTING_RANDOM_GRAPH_H_
#define ENCORE_IR_TESTING_RANDOM_GRAPH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/literal.h"

namespace encore {

struct RandomGraphOptions {
  // How many nodes are drawn; more are added beside them.
  int nodes = 8;
  // What is drawn; nothing means every op, and every dtype but string.
  std::vector<Op> ops = {};
  std::vector<DType> dtypes = {};
  // Some extents are symbols, bounded by [1, 6].
  bool symbolic = false;
  // No tensor of the graph's arguments has more elements.
  int64_t max_elements = 200;
};

// A well-typed graph with at least one output, built without simplification.
Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options = {});

// A graph with one node of `op` in `dtype`, the row's T (or the attribute
// dtype's, for cast and iota), all of whose results are outputs. Nothing for
// Input, Parameter and Custom, and where the row does not allow the dtype.
std::optional<Graph> RandomNode(Op op, DType dtype, uint64_t seed,
                                bool symbolic = false);

// A literal for each argument of the graph, data or not; symbols have random
// values within their bounds (REQUIRES bounds that allow small ones).
std::vector<Literal> RandomArguments(const Graph& graph, uint64_t seed);

// A literal as arguments are.
Literal RandomLiteral(DType dtype, std::vector<int64_t> dims, uint64_t seed);

}  // namespace encore

#endif  // ENCORE_IR_TESTING_RANDOM_GRAPH_H_
