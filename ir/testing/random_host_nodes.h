// Random nodes on strings, sequences and optionals.
#ifndef ENCORE_IR_TESTING_RANDOM_HOST_NODES_H_
#define ENCORE_IR_TESTING_RANDOM_HOST_NODES_H_

#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/testing/random_operands.h"
#include "encore/ir/types/dtype.h"

namespace encore::internal {

// Adds one node of `op`, one of kNonFlatValues, and what it takes; its results.
// REQUIRES that the op allows `dtype`.
std::vector<Value> RandomHostNode(RandomOperands& operands, Op op, DType dtype);

}  // namespace encore::internal

#endif  // ENCORE_IR_TESTING_RANDOM_HOST_NODES_H_
