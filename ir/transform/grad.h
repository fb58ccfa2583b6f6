// Derivatives, by reverse mode: nodes that compute them.
#ifndef ENCORE_IR_TRANSFORM_GRAD_H_
#define ENCORE_IR_TRANSFORM_GRAD_H_

#include <span>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/support/status.h"

namespace encore {

// The derivatives of the sum of y's elements by each of `xs`, taken where each
// xs[i] has the value at[i]; y and xs are values of `builder`, which gets the
// nodes. A result has the shape of its x, and is 0 where y does not depend on
// it, or where it is no tensor of floats.
//
// Composites are differentiated as their decompositions. At ties max and min
// follow the first operand, a reduction the average of all; jumps have the
// derivative 0.
//
// REQUIRES at[i], a tensor, of the type of xs[i]. InvalidArgument where y is no
// tensor of floats, Unimplemented where y depends on an x by an operator
// without a rule (it is named) or two of `at` are one value. Linear in the
// builder's graph.
StatusOr<std::vector<Value>> Gradients(GraphBuilder& builder, Value y,
                                       std::span<const Value> xs,
                                       std::span<const Value> at);

}  // namespace encore

#endif  // ENCORE_IR_TRANSFORM_GRAD_H_
