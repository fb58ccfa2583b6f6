// RandomGenerator: random nodes, one after another; behind random_graph.h.
#ifndef ENCORE_IR_TESTING_RANDOM_GENERATOR_H_
#define ENCORE_IR_TESTING_RANDOM_GENERATOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/testing/random_operands.h"
#include "encore/ir/types/dtype.h"

namespace encore::internal {

class RandomGenerator {
 public:
  // As RandomOperands.
  RandomGenerator(GraphBuilder& g, uint64_t seed,
                  const RandomGraphOptions& options, bool is_body)
      : operands_(g, seed, options, is_body) {}

  RandomOperands& operands() { return operands_; }

  // Adds `op`; false where the dtype is not the row's.
  bool AddNode(Op op, DType dtype);
  // Adds `count` nodes of random ops and dtypes.
  void AddNodes(int count);

 private:
  using Values = std::vector<Value>;

  Values NewNode(Op op, DType dtype);
  // Control flow.
  Values Bodies(Op op, DType dtype);
  // A body whose outputs are of the types of its inputs from `first` on, as
  // many as `like` has.
  GraphBuilder::Body BodyOf(size_t first, std::span<const Value> like,
                            uint64_t seed);

  RandomOperands operands_;
};

}  // namespace encore::internal

#endif  // ENCORE_IR_TESTING_RANDOM_GENERATOR_H_
