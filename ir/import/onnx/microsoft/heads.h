// What the attention operators of the domain com.microsoft share.
#ifndef ENCORE_IR_IMPORT_ONNX_MICROSOFT_HEADS_H_
#define ENCORE_IR_IMPORT_ONNX_MICROSOFT_HEADS_H_

#include <cstdint>
#include <string_view>

#include "encore/ir/build/builder.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dim.h"

namespace encore::onnx {

// The attribute of that name, which says how many heads there are.
StatusOr<int64_t> ReadHeadCount(NodeContext& context, std::string_view name);

// Attention over `keys` keys by queries of `batch` samples.
struct MaskShape {
  Dim batch, keys;
};

// The sum, to broadcast to [B, heads, queries, keys], of what input `mask` adds
// to scores, the attribute mask_filter_value where it hides a key, and of input
// `bias`; both may be left out, and the sum is then invalid. A mask is
// [B, keys] or [B, queries, keys] of what is hidden where it is not positive;
// [B], how many keys there are; [2 B], where they end and where they begin; or
// [3 B + 2], of which the first B count.
StatusOr<Value> MaskAndBias(NodeContext& context, int mask, int bias,
                            const MaskShape& shape, DType dtype);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_MICROSOFT_HEADS_H_
