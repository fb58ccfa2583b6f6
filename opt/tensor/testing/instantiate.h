// Random graphs that the left side of a rule matches.
#ifndef ENCORE_OPT_TENSOR_TESTING_INSTANTIATE_H_
#define ENCORE_OPT_TENSOR_TESTING_INSTANTIATE_H_

#include <cstdint>
#include <optional>

#include "encore/ir/graph/graph.h"
#include "encore/ir/types/dtype.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

// A graph whose outputs are the left sides of `rule`, with an argument for each
// variable; drawn from the results down: a random shape (extents of 0, 1 and
// primes; symbols N and M in [1, 4] where `symbolic`), then attributes, and the
// operands' shapes that they ask for. Clauses are not looked at, but that what
// is to be a number is one. Nothing where the draw does not fit together.
// REQUIRES a rule whose range is empty or of one operator.
std::optional<Graph> Instantiate(const TextRule& rule, DType dtype,
                                 bool symbolic, uint64_t seed);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_TESTING_INSTANTIATE_H_
