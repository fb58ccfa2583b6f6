#include "encore/ir/ops/checks.h"
#include "encore/ir/ops/families.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ops {

Types InferAttention(const InferContext& context) {
  for (int i = 0; i < 3; ++i) {
    ENCORE_RETURN_IF_ERROR(CheckRank(context, i, 4));
  }
  const Shape &query = context.shape(0), &key = context.shape(1);
  const Dim &heads = query[1], &kv_heads = key[1], &length = key[2];
  const bool divides =
      heads == kv_heads ||
      (heads.is_constant() && kv_heads.is_constant() &&
       kv_heads.constant() > 0 && heads.constant() % kv_heads.constant() == 0);
  if (!divides) {
    return context.Error(StrCat(
        "operand 1 has ", kv_heads.ToString(context.symbols),
        " heads, expected a divisor of ", heads.ToString(context.symbols)));
  }
  ENCORE_RETURN_IF_ERROR(
      CheckShape(context, 1, Shape({query[0], kv_heads, length, query[3]})));
  const Dim& width = context.shape(2)[3];
  ENCORE_RETURN_IF_ERROR(
      CheckShape(context, 2, Shape({query[0], kv_heads, length, width})));
  if (const double cap = context.attrs<AttentionAttrs>().softcap; cap < 0) {
    return context.Error(
        StrCat("attribute softcap is ", cap, ", expected 0 or more"));
  }
  if (context.operands.size() > 3) {
    ENCORE_RETURN_IF_ERROR(CheckRank(context, 3, 4));
    // Extents of 1 are repeated.
    Shape mask({query[0], heads, query[2], length});
    for (int i = 0; i < 4; ++i) {
      if (context.shape(3)[i] == Dim(1)) mask[i] = 1;
    }
    ENCORE_RETURN_IF_ERROR(CheckShape(context, 3, mask));
  }
  return Like(context, Shape({query[0], heads, query[2], width}));
}

}  // namespace encore::ops
