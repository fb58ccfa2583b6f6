// Heads of attention, which lie side by side in a tensor's last dim.
#ifndef ENCORE_IR_IMPORT_ONNX_SHAPES_HEADS_H_
#define ENCORE_IR_IMPORT_ONNX_SHAPES_HEADS_H_

#include <cstdint>
#include <string_view>

#include "encore/ir/build/builder.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// [B, L, heads * D] as [B, L, heads, D]. InvalidArgument names `what`, an
// input, where it has another rank or is no multiple of the heads wide.
StatusOr<Value> HeadsApart(NodeContext& context, Value x, int64_t heads,
                           std::string_view what);

// The same as [B, heads, L, D].
StatusOr<Value> SplitHeads(NodeContext& context, Value x, int64_t heads,
                           std::string_view what);

// [B, heads, L, D] as [B, L, heads * D].
Value MergeHeads(NodeContext& context, Value x);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SHAPES_HEADS_H_
