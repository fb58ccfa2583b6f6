// The decomposition of a composite as a pattern of a rule.
#ifndef ENCORE_OPT_TENSOR_COMPOSITES_DECOMPOSITION_PATTERN_H_
#define ENCORE_OPT_TENSOR_COMPOSITES_DECOMPOSITION_PATTERN_H_

#include <vector>

#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/opt/tensor/text_rule.h"

namespace encore::opt {

// The rule from the decomposition to the composite, of a rule
//
//   composite(%x, …) {numbers} <-> decomposition
//
// The pattern is the op table's decomposition of scalars (ir/transform/
// decompose.h): each element of an elementwise composite is computed so. Its
// constants are variables, of which guards say what each element is.
// REQUIRES a left side that is one composite of variables. InvalidArgument
// where it is not elementwise, or has attributes that are a variable.
StatusOr<TextRule> RecognitionOf(const TextRule& rule);

// The operators of the decomposition, in any dtype, of the composite that the
// left side of such a rule is; each once.
std::vector<Op> OpsOfDecomposition(const TextRule& rule);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_COMPOSITES_DECOMPOSITION_PATTERN_H_
