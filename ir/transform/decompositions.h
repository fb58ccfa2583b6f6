// Decompose<Family> for every composite row of ops.def. Operands are those of
// a well-typed node; an error stays in the builder.
#ifndef ENCORE_IR_TRANSFORM_DECOMPOSITIONS_H_
#define ENCORE_IR_TRANSFORM_DECOMPOSITIONS_H_

#include <span>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/types/dtype.h"

namespace encore::ops {

struct DecomposeContext {
  GraphBuilder& g;
  const Attributes& attributes;
  std::span<const Value> operands;

  template <typename Attrs>
  const Attrs& attrs() const {
    return attributes.Get<Attrs>();
  }
  // Operand i in the dtype in which decompositions compute: f32 where it is a
  // narrower float.
  Value wide(int i = 0) const { return g.Cast(operands[i], wide_dtype()); }
  DType wide_dtype() const {
    const DType dtype = operands[0].dtype();
    return IsFloat(dtype) && BitWidth(dtype) < 32 ? DType::kF32 : dtype;
  }
  // `value` in the dtype of operand 0.
  Value Narrow(Value value) const { return g.Cast(value, operands[0].dtype()); }
};

#define ENCORE_DECLARE_kPrimitive(Family)
#define ENCORE_DECLARE_kComposite(Family) \
  Value Decompose##Family(const DecomposeContext& context);
#define ENCORE_OP(Kind, mnemonic, level, signature, dtypes, Attrs, Family, \
                  traits, summary)                                         \
  ENCORE_DECLARE_##level(Family)
#include "encore/ir/ops/ops.def"
#undef ENCORE_OP
#undef ENCORE_DECLARE_kPrimitive
#undef ENCORE_DECLARE_kComposite

}  // namespace encore::ops

#endif  // ENCORE_IR_TRANSFORM_DECOMPOSITIONS_H_
