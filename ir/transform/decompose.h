// Composites in terms of primitives.
//
// A decomposition equals its composite up to rounding. Floats narrower than f32
// are widened to f32, computed there and rounded back once, except where the
// composite is exact in its own dtype (relu, prelu, clamp, max_pool) and in
// linear, whose product and sum are each rounded to the dtype. Softmax
// subtracts the maximum, normalizations take the variance about the mean (two
// passes), softplus and what uses it never overflow.
#ifndef ENCORE_IR_TRANSFORM_DECOMPOSE_H_
#define ENCORE_IR_TRANSFORM_DECOMPOSE_H_

#include <span>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"

namespace encore {

// The results of a well-typed composite node, as primitives that `builder`
// adds. Unimplemented for a primitive; else the builder's error.
StatusOr<std::vector<Value>> Decompose(GraphBuilder& builder, Op op,
                                       const Attributes& attributes,
                                       std::span<const Value> operands);

// The graph with every composite decomposed, in bodies as well.
StatusOr<Graph> DecomposeAll(const Graph& graph,
                             const BuilderOptions& options = {});

}  // namespace encore

#endif  // ENCORE_IR_TRANSFORM_DECOMPOSE_H_
