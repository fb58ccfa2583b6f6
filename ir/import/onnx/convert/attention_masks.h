// Masks of attention: what is added to scores, and which keys are seen.
#ifndef ENCORE_IR_IMPORT_ONNX_CONVERT_ATTENTION_MASKS_H_
#define ENCORE_IR_IMPORT_ONNX_CONVERT_ATTENTION_MASKS_H_

#include <optional>

#include "encore/ir/build/builder.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dim.h"

namespace encore::onnx {

// Queries [B, heads, L, D], keys [B, kv_heads, S, D] and values [B, kv_heads,
// S, E] of a node.
struct AttentionHeads {
  Value query, key, value;

  const Dim batch() const { return query.shape()[0]; }
  const Dim heads() const { return query.shape()[1]; }
  const Dim kv_heads() const { return key.shape()[1]; }
  const Dim queries() const { return query.shape()[2]; }
  const Dim keys() const { return key.shape()[2]; }
  // Queries for each key head, all heads that share it.
  Dim grouped() const {
    const bool own = heads() == kv_heads();
    return own ? queries() : FloorDiv(heads(), kv_heads()) * queries();
  }
};

// What is added to scores, and which keys a query may see at all. Each
// broadcasts to [B, heads, L, S]; invalid where there is none.
struct AttentionMasks {
  Value bias, seen;
  // Whether that a query sees no later keys is left to kAttention.
  bool causal = false;
  // Whether a query may be left without any key.
  bool may_be_empty = false;
};

// The masks of an Attention: attn_mask, causality, windows and lengths. `past`:
// how many keys come from the cache; `plain`: whether kAttention says the rest,
// to which causality is left then where it alone hides keys and queries are
// known to stand at the end of these.
StatusOr<AttentionMasks> ReadMasks(NodeContext& context, AttentionHeads* heads,
                                   const Dim& past, bool plain);

// The masks as kAttention adds them to scores, of rank 4; invalid where there
// are none, and nothing where it is not known whether an extent is repeated.
std::optional<Value> AddedMask(NodeContext& context,
                               const AttentionHeads& heads,
                               const AttentionMasks& masks);

// Scores [B, heads, L, S] with the masks in them.
Value Masked(NodeContext& context, Value scores, const AttentionMasks& masks);

// `x`, [B, heads, L, any], with zeros in the rows of queries that see no key.
Value WithoutEmptyRows(NodeContext& context, Value x,
                       const AttentionMasks& masks);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_CONVERT_ATTENTION_MASKS_H_
