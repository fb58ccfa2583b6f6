// What random graphs are drawn from where rules are to have something to do.
#ifndef ENCORE_OPT_TENSOR_TESTING_REWRITTEN_GRAPHS_H_
#define ENCORE_OPT_TENSOR_TESTING_REWRITTEN_GRAPHS_H_

#include "encore/ir/ops/op.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/types/dtype.h"

namespace encore::opt {

// Movement, products, sums and control flow, on floats and integers of at least
// 32 bits.
inline RandomGraphOptions MovementAndProducts(int nodes, bool symbolic) {
  RandomGraphOptions options;
  options.nodes = nodes;
  options.symbolic = symbolic;
  options.ops = {Op::kAdd,       Op::kSub,     Op::kMul,        Op::kNeg,
                 Op::kTranspose, Op::kReshape, Op::kBroadcast,  Op::kSlice,
                 Op::kConcat,    Op::kReduce,  Op::kDotGeneral, Op::kGather,
                 Op::kMax,       Op::kSelect,  Op::kIf};
  options.dtypes = {DType::kF32, DType::kF64, DType::kI32};
  return options;
}

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_TESTING_REWRITTEN_GRAPHS_H_
