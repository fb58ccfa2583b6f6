// Decompositions of composites in the e-graph.
#ifndef ENCORE_OPT_TENSOR_COMPOSITES_DECOMPOSITION_H_
#define ENCORE_OPT_TENSOR_COMPOSITES_DECOMPOSITION_H_

#include <span>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/tensor/tensor_egraph.h"

namespace encore::opt {

// The class of what the op table says that the composite is
// (ir/transform/decompose.h); of an ill-typed one the class of the composite.
// REQUIRES a composite, of one result.
egraph::ClassId AddDecomposition(TensorEGraph* tensors, Op op,
                                 std::span<const egraph::ClassId> operands,
                                 const Attributes& attributes);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_COMPOSITES_DECOMPOSITION_H_
