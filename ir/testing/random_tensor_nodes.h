// Random nodes on tensors, one family after another.
#ifndef ENCORE_IR_TESTING_RANDOM_TENSOR_NODES_H_
#define ENCORE_IR_TESTING_RANDOM_TENSOR_NODES_H_

#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/testing/random_operands.h"
#include "encore/ir/types/dtype.h"

namespace encore::internal {

// Adds one node of `op`, which has no bodies and no host objects, and what it
// takes; its results. REQUIRES that the op allows `dtype`.
std::vector<Value> RandomTensorNode(RandomOperands& operands, Op op,
                                    DType dtype);

}  // namespace encore::internal

#endif  // ENCORE_IR_TESTING_RANDOM_TENSOR_NODES_H_
