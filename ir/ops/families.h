// What a family in this folder implements: Infer<Family> for each family that a
// row of ops.def names. A row without one does not link.
//
// An inference function may rely on what InferTypes has checked: operand count
// and dtypes fit the signature, and the attributes are the row's struct.
// Everything else (ranks, axis ranges, list lengths, extents) it checks itself,
// without trusting sizes.
#ifndef ENCORE_IR_OPS_FAMILIES_H_
#define ENCORE_IR_OPS_FAMILIES_H_

#include <vector>

#include "encore/ir/ops/infer.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/shape.h"

namespace encore::ops {

using Types = StatusOr<std::vector<TensorType>>;

#define ENCORE_OP(Kind, mnemonic, level, signature, dtypes, Attrs, Family, \
                  traits, summary)                                         \
  Types Infer##Family(const InferContext& context);
#include "encore/ir/ops/ops.def"
#undef ENCORE_OP

}  // namespace encore::ops

#endif  // ENCORE_IR_OPS_FAMILIES_H_
