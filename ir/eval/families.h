// What a family in this folder implements: Evaluate<Family> for each family
// that a row of ops.def names, by the definition of the op and not by its
// decomposition.
//
// Everything a function is given has been checked by inference on the very
// extents at hand: operand and result dims are those of literals, attributes
// hold constant dims, bytes are aligned. Sizes of results are within the
// evaluator's limit, but for operators of trait kNonFlatValues, which see to it
// themselves.
#ifndef ENCORE_IR_EVAL_FAMILIES_H_
#define ENCORE_IR_EVAL_FAMILIES_H_

#include <functional>
#include <span>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"

namespace encore::eval {

using Literals = std::vector<Literal>;
using Results = StatusOr<Literals>;

struct EvalContext {
  Op op;
  const Attributes& attributes;
  std::span<const Literal> operands;
  // Constant extents, but for trips of a loop and shapes of what an operator of
  // trait kNonFlatValues gives: these are known only afterwards.
  std::span<const TensorType> results;
  // Evaluates body i.
  std::function<Results(int body, std::span<const Literal> inputs)> run_body;
  // The limit on iterations of one loop.
  int64_t max_iterations = 0;

  template <typename Attrs>
  const Attrs& attrs() const {
    return attributes.Get<Attrs>();
  }
  const Literal& operand(int i) const { return operands[i]; }
  DType dtype(int i = 0) const { return operands[i].dtype(); }
  const std::vector<int64_t>& dims(int i = 0) const {
    return operands[i].dims();
  }
  std::vector<int64_t> result_dims() const {
    return results[0].shape.ConstantDims();
  }
  // Zeros of result 0's type.
  Literal NewResult() const { return Literal(results[0].dtype, result_dims()); }
};

#define ENCORE_OP(Kind, mnemonic, level, signature, dtypes, Attrs, Family, \
                  traits, summary)                                         \
  Results Evaluate##Family(const EvalContext& context);
#include "encore/ir/ops/ops.def"
#undef ENCORE_OP

}  // namespace encore::eval

#endif  // ENCORE_IR_EVAL_FAMILIES_H_
