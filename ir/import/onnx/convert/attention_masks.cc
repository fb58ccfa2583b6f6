#include "encore/ir/import/onnx/convert/attention_masks.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

void AddSeen(NodeContext& context, Value seen, AttentionMasks* masks) {
  masks->seen =
      masks->seen.valid()
          ? context.Emit(Op::kAnd, BroadcastAll(context, {masks->seen, seen}))
          : seen;
}

// Input attn_mask, filled along the keys with what hides them.
Status AddMask(NodeContext& context, const AttentionHeads& heads,
               AttentionMasks* masks) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(
      const bool broadcasts,
      context.attributes().Bool("encore.broadcasts", false));
  if (!context.HasInput(3)) return OkStatus();
  Value mask = context.Input(3);
  const bool is_bool = mask.dtype() == DType::kBool;
  if (mask.rank() < 1 || mask.rank() > 4) {
    return context.ShapeMismatch(
        StrCat("input attn_mask is ", mask.type(), ", expected rank 1 to 4"));
  }
  if (!is_bool) mask = g.Cast(mask, heads.query.dtype());
  const Dim keys = heads.keys(), length = mask.shape()[mask.rank() - 1];
  if (!(length == keys) && !(broadcasts && length == Dim(1))) {
    ShapeBuilder shapes(context);
    shapes.Require(shapes.Extent(length) <= shapes.Extent(keys));
    ENCORE_ASSIGN_OR_RETURN(
        mask, shapes.Assert(mask, "input attn_mask is longer than the keys"));
    Dims low(mask.rank(), 0), high(mask.rank(), 0);
    high.back() = keys - length;
    const Value hidden = is_bool ? g.Constant(Literal(DType::kBool, {}))
                                 : context.Scalar(mask.dtype(), -INFINITY);
    mask = g.Pad(mask, hidden, std::move(low), std::move(high));
  }
  masks->may_be_empty = true;
  if (is_bool) {
    AddSeen(context, mask, masks);
  } else {
    masks->bias = mask;
  }
  return OkStatus();
}

// Positions of queries and keys among all tokens, with which causality and
// windows are said: queries stand after `offset` tokens.
struct Positions {
  Value query, key;
};

// Queries [L, 1], or [B, 1, L, 1] where `lengths`, tokens by sample, are given;
// keys [1, S].
Positions MakePositions(NodeContext& context, const AttentionHeads& heads,
                        const Dim& past, Value lengths) {
  GraphBuilder& g = context.builder();
  Value query = g.Iota(DType::kI64, {heads.queries(), 1}, 0);
  if (lengths.valid()) {
    const Value offset = g.Sub(lengths, DimValue(context, heads.queries()));
    query = g.Add(query, g.Unsqueeze(offset, {1, 2, 3}));
  } else if (!(past == Dim(0))) {
    query = g.Add(query, DimValue(context, past));
  }
  return {query, g.Iota(DType::kI64, {1, heads.keys()}, 1)};
}

// Input nonpad_kv_seqlen, the tokens of each sample; invalid where left out.
StatusOr<Value> Lengths(NodeContext& context, AttentionHeads* heads) {
  if (!context.HasInput(6)) return Value();
  if (context.HasInput(4)) {
    return NodeContext::Error(
        "inputs nonpad_kv_seqlen and past_key are both given, expected one");
  }
  ENCORE_RETURN_IF_ERROR(context.CheckVector(6, "nonpad_kv_seqlen"));
  Value lengths = context.Input(6);
  UnifyDims(context, &heads->query, 0, &lengths, 0);
  return lengths;
}

}  // namespace

StatusOr<AttentionMasks> ReadMasks(NodeContext& context, AttentionHeads* heads,
                                   const Dim& past, bool plain) {
  AttributeReader& attributes = context.attributes();
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const bool causal,
                          attributes.Bool("is_causal", false));
  ENCORE_ASSIGN_OR_RETURN(const int64_t left,
                          attributes.Int("left_window_size", -1));
  ENCORE_ASSIGN_OR_RETURN(const int64_t right,
                          attributes.Int("right_window_size", -1));
  ENCORE_ASSIGN_OR_RETURN(const Value lengths, Lengths(context, heads));
  AttentionMasks masks;
  ENCORE_RETURN_IF_ERROR(AddMask(context, *heads, &masks));
  if (left < 0 && right < 0 && !lengths.valid()) {
    masks.causal = causal && plain && !masks.may_be_empty &&
                   heads->keys() - heads->queries() == past;
    if (!causal || masks.causal) return masks;
  }
  const Positions at = MakePositions(context, *heads, past, lengths);
  const auto see = [&](Value a, Comparison direction, Value b) {
    AddSeen(context, g.Compare(a, b, direction), &masks);
  };
  if (causal) see(at.key, Comparison::kLe, at.query);
  // The distance is compared: sums with a window could wrap.
  if (left >= 0) {
    see(g.Sub(at.query, at.key), Comparison::kLe, g.Scalar(DType::kI64, left));
  }
  if (right >= 0) {
    see(g.Sub(at.key, at.query), Comparison::kLe, g.Scalar(DType::kI64, right));
  }
  if (lengths.valid()) {
    see(at.key, Comparison::kLt, g.Unsqueeze(lengths, {1, 2, 3}));
  }
  masks.may_be_empty |= lengths.valid() || left >= 0;
  return masks;
}

std::optional<Value> AddedMask(NodeContext& context,
                               const AttentionHeads& heads,
                               const AttentionMasks& masks) {
  GraphBuilder& g = context.builder();
  Value mask = masks.bias;
  if (masks.seen.valid()) {
    const DType dtype = heads.query.dtype();
    const Value shown = mask.valid() ? mask : context.Scalar(dtype, 0);
    const Value hidden = context.Scalar(dtype, -INFINITY);
    mask = context.Emit(Op::kSelect,
                        BroadcastAll(context, {masks.seen, shown, hidden}));
  }
  if (!mask.valid()) return mask;
  Ints axes(4 - mask.rank());
  std::iota(axes.begin(), axes.end(), 0);
  mask = g.Unsqueeze(mask, axes);
  const Shape scores(
      {heads.batch(), heads.heads(), heads.queries(), heads.keys()});
  for (int i = 0; i < 4; ++i) {
    const Dim extent = mask.shape()[i];
    if (!(extent == Dim(1)) && !(extent == scores[i])) return std::nullopt;
  }
  return mask;
}

Value Masked(NodeContext& context, Value scores, const AttentionMasks& masks) {
  if (masks.bias.valid()) {
    scores =
        context.Emit(Op::kAdd, BroadcastAll(context, {scores, masks.bias}));
  }
  if (!masks.seen.valid()) return scores;
  const Value hidden = context.Scalar(scores.dtype(), -INFINITY);
  return context.Emit(Op::kSelect,
                      BroadcastAll(context, {masks.seen, scores, hidden}));
}

Value WithoutEmptyRows(NodeContext& context, Value x,
                       const AttentionMasks& masks) {
  if (!masks.may_be_empty) return x;
  GraphBuilder& g = context.builder();
  Value seen = masks.seen;
  if (masks.bias.valid()) {
    const Value adds = g.Compare(masks.bias, -INFINITY, Comparison::kNe);
    seen = seen.valid()
               ? context.Emit(Op::kAnd, BroadcastAll(context, {seen, adds}))
               : adds;
  }
  const Value any =
      g.Reduce(seen, Combiner::kMax, {seen.rank() - 1}, /*keep_dims=*/true);
  const Value zero = context.Scalar(x.dtype(), 0);
  return context.Emit(Op::kSelect, BroadcastAll(context, {any, x, zero}));
}

}  // namespace encore::onnx
