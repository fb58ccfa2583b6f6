// Random graphs that the left side of a rule matches.
#ifndef ENCORE_OPT_TENSOR_CHECK_INSTANTIATE_H_
#define ENCORE_OPT_TENSOR_CHECK_INSTANTIATE_H_

#include <optional>
#include <string_view>

#include "encore/ir/graph/graph.h"
#include "encore/ir/types/dtype.h"
#include "encore/opt/tensor/check/choices.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

// The name of an argument that nothing reads: its extents are the symbols, so
// that every call says what they are.
inline constexpr std::string_view kExtentsArgument = "extents";

// A graph whose outputs are the left sides of a rule, with an argument for each
// variable. Draws a dtype and then from the results down: a shape (extents of
// 0, 1, 2 and primes; in a quarter of all graphs symbols N and M in [1, 4]),
// attributes, and the operands' shapes that they ask for. Clauses are not
// looked at, but that what is to be a number is one. Nothing where the draw
// does not fit together. REQUIRES a range that is empty or of one operator.
std::optional<Graph> Instantiate(const TextRule& rule, Choices* choices);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_CHECK_INSTANTIATE_H_
