// Attention, MultiHeadAttention and RotaryEmbedding: the standard's, with
// projections, biases and masks of their own.

#include <utility>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/microsoft/heads.h"
#include "encore/ir/import/onnx/microsoft/standard_calls.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/import/onnx/shapes/heads.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Positions are given, or the first one is, which is that of all samples.
Status RotaryEmbedding(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(4, 4));
  AttributeReader& attributes = context.attributes();
  GraphBuilder& g = context.builder();
  StandardCalls standard(context);
  NodeAttributes passed = standard.Own({"interleaved", "rotary_embedding_dim"});
  // Neither changes what is computed.
  attributes.Ignore("is_packed_batching");
  attributes.Ignore("scale");
  ENCORE_ASSIGN_OR_RETURN(int64_t heads, attributes.Int("num_heads", 0));
  ENCORE_ASSIGN_OR_RETURN(const int64_t width,
                          attributes.Int("rotary_embedding_dim", 0));
  const Value x = context.Input(0), cosine = context.Input(2);
  const Shape shape = context.shape(x);
  if ((shape.rank() != 3 && shape.rank() != 4) || cosine.rank() != 2) {
    return context.ShapeMismatch(StrCat("inputs input and cos_cache are ",
                                        x.type(), " and ", cosine.type(),
                                        ", expected rank 3 or 4, and 2"));
  }
  if (shape.rank() == 3 && (heads == 0 || width == 0)) {
    // Heads are as wide as the caches say.
    const Dim whole = shape[2], half = cosine.shape()[1];
    if (!whole.is_constant() || !half.is_constant() || half.constant() < 1) {
      return context.Unknown(
          "attribute num_heads is missing, and the extents do not say it");
    }
    heads = whole.constant() / (2 * half.constant());
  }
  if (shape.rank() == 3) passed.push_back(IntAttr("num_heads", heads));
  const Dim length = shape.rank() == 4 ? shape[2] : shape[1];
  Value positions = context.Input(1);
  if (positions.rank() < 2) {
    const Value first = context.Reshape(positions, {});
    positions = g.BroadcastTo(g.Add(CountTo(context, length), first),
                              Shape({shape[0], length}));
  }
  ENCORE_ASSIGN_OR_RETURN(
      const Value y,
      standard.Call("RotaryEmbedding", {x, cosine, context.Input(3), positions},
                    passed));
  return context.Output(0, y);
}

// Queries, keys and values [B, heads, L, D]; the cache, and what is added to
// scores, may be absent.
struct Operands {
  Value query, key, value, bias, past_key, past_value;
};

// The standard's results: the attention, with its heads joined, all keys, all
// values, and the weights where these are wanted.
StatusOr<std::vector<Value>> Attended(NodeContext& context,
                                      const Operands& operands, bool weights) {
  StandardCalls standard(context);
  ENCORE_ASSIGN_OR_RETURN(const bool causal,
                          context.attributes().Bool("unidirectional", false));
  ENCORE_ASSIGN_OR_RETURN(const float scale,
                          context.attributes().Float("scale", 0));
  NodeAttributes attributes = {IntAttr("is_causal", causal),
                               IntAttr("qk_matmul_output_mode", 3)};
  // 0 is for what is said nowhere.
  if (scale != 0) attributes.push_back(FloatAttr("scale", scale));
  ENCORE_ASSIGN_OR_RETURN(
      std::vector<Value> results,
      standard.Call("Attention",
                    {operands.query, operands.key, operands.value,
                     operands.bias, operands.past_key, operands.past_value},
                    attributes, weights ? 4 : 3));
  results[0] = MergeHeads(context, results[0]);
  return results;
}

// The part of the bias vector, input `bias`, from `first` on, added to `x`,
// whose last dim it is as long as.
Value WithBias(NodeContext& context, Value x, int bias, const Dim& first) {
  if (!context.HasInput(bias)) return x;
  GraphBuilder& g = context.builder();
  const Dim width = x.shape()[x.rank() - 1];
  return g.Add(x, g.SliceAxis(context.Input(bias), 0, first, first + width));
}

// Part `i` along axis 3 of the packed [B, L, heads, parts, D], as
// [B, heads, L, D].
Value Unpacked(GraphBuilder& g, Value packed, int64_t i) {
  return g.Transpose(g.Squeeze(g.SliceAxis(packed, 3, i, i + 1), {3}),
                     {0, 2, 1, 3});
}

// Keys or values, input i: [B, L, heads * D] with their bias from `first` on,
// or [B, heads, L, D].
StatusOr<Value> KeysOf(NodeContext& context, int i, int64_t heads,
                       const Dim& first, std::string_view what) {
  const Value x = context.Input(i);
  if (x.rank() == 4) return x;
  return SplitHeads(context, WithBias(context, x, 3, first), heads, what);
}

StatusOr<Operands> ReadMultiHead(NodeContext& context) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const int64_t heads,
                          ReadHeadCount(context, "num_heads"));
  const Value query = context.Input(0);
  Operands operands;
  if (context.HasInput(3)) {
    ENCORE_RETURN_IF_ERROR(context.CheckVector(3, "bias"));
  }
  const bool packed = query.rank() == 5;
  const bool packed_keys =
      context.HasInput(1) && context.rank(context.Input(1)) == 5;
  if ((packed || packed_keys) && context.HasInput(3)) {
    return UnimplementedError("input bias is given for packed inputs");
  }
  if (packed) {
    operands.query = Unpacked(g, query, 0);
    operands.key = Unpacked(g, query, 1);
    operands.value = Unpacked(g, query, 2);
    return operands;
  }
  if (query.rank() != 3) {
    return context.ShapeMismatch(StrCat("input query is ", query.type(),
                                        ", expected rank 3, or 5 packed"));
  }
  const Dim width = query.shape()[2];
  ENCORE_ASSIGN_OR_RETURN(
      operands.query,
      SplitHeads(context, WithBias(context, query, 3, 0), heads, "query"));
  if (packed_keys) {
    operands.key = Unpacked(g, context.Input(1), 0);
    operands.value = Unpacked(g, context.Input(1), 1);
    return operands;
  }
  if (!context.HasInput(1) || !context.HasInput(2)) {
    return NodeContext::Error(
        "inputs key and value are left out, and input query is not packed");
  }
  ENCORE_ASSIGN_OR_RETURN(operands.key,
                          KeysOf(context, 1, heads, width, "key"));
  ENCORE_ASSIGN_OR_RETURN(operands.value,
                          KeysOf(context, 2, heads, width * 2, "value"));
  return operands;
}

Status MultiHeadAttention(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 10));
  for (const auto& [i, name] : {std::pair(8, "past_sequence_length"),
                                std::pair(9, "cache_indirection")}) {
    if (!context.HasInput(i)) continue;
    return UnimplementedError(StrCat("input ", name,
                                     ", of buffers that are shared, is not "
                                     "supported"));
  }
  ENCORE_ASSIGN_OR_RETURN(Operands operands, ReadMultiHead(context));
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  operands.past_key = OptionalInput(context, 6);
  operands.past_value = OptionalInput(context, 7);
  const Shape shape = context.shape(operands.key);
  Dim keys = shape[2];
  if (operands.past_key.valid() && operands.past_key.rank() == 4) {
    keys = keys + operands.past_key.shape()[2];
  }
  ENCORE_ASSIGN_OR_RETURN(
      operands.bias,
      MaskAndBias(context, 4, 5, {shape[0], keys}, operands.query.dtype()));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> results,
                          Attended(context, operands, context.WantsOutput(3)));
  for (size_t i = 0; i < results.size(); ++i) {
    ENCORE_RETURN_IF_ERROR(context.Output(static_cast<int>(i), results[i]));
  }
  return OkStatus();
}

// What the attributes of Attention say that is not supported.
Status CheckAttention(NodeContext& context) {
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const int64_t rotary, attributes.Int("do_rotary", 0));
  ENCORE_ASSIGN_OR_RETURN(const int64_t shares,
                          attributes.Int("past_present_share_buffer", 0));
  attributes.Ignore("rotary_embedding_dim");  // of do_rotary
  if (rotary != 0) {
    return UnimplementedError(
        StrCat("attribute do_rotary is ", rotary, ", expected 0"));
  }
  if (shares != 0 && context.HasInput(4)) {
    return UnimplementedError(StrCat("attribute past_present_share_buffer is ",
                                     shares, ", expected 0"));
  }
  if (!context.HasInput(6)) return OkStatus();
  return UnimplementedError(
      "input past_sequence_length, of buffers that are shared, is not "
      "supported");
}

// How wide queries, keys and values are in the `whole` of the projection.
StatusOr<Dims> ProjectedWidths(NodeContext& context, const Dim& whole) {
  ENCORE_ASSIGN_OR_RETURN(const Ints sizes,
                          context.attributes().Ints("qkv_hidden_sizes", {}));
  if (sizes.empty()) return Dims(3, FloorDiv(whole, 3));
  if (sizes.size() != 3 || sizes[0] != sizes[1]) {
    return NodeContext::Error(StrCat("attribute qkv_hidden_sizes is [",
                                     StrJoin(sizes, ","),
                                     "], expected three, the first two equal"));
  }
  return Dims(sizes.begin(), sizes.end());
}

Status Attention(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 7));
  ENCORE_RETURN_IF_ERROR(CheckAttention(context));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const int64_t heads,
                          ReadHeadCount(context, "num_heads"));
  if (context.HasInput(2)) {
    ENCORE_RETURN_IF_ERROR(context.CheckVector(2, "bias"));
  }
  const Value all = MatMul(context, context.Input(0), context.Input(1));
  ENCORE_RETURN_IF_ERROR(g.status());
  const Value projected = WithBias(context, all, 2, 0);
  ENCORE_RETURN_IF_ERROR(g.status());
  const Shape shape = context.shape(projected);
  if (shape.rank() != 3) {
    return context.ShapeMismatch(StrCat(
        "input input is ", context.Input(0).type(), ", expected rank 3"));
  }
  ENCORE_ASSIGN_OR_RETURN(const Dims widths,
                          ProjectedWidths(context, shape[2]));
  Operands operands;
  Dim first = 0, keys = shape[1];
  Value* const parts[] = {&operands.query, &operands.key, &operands.value};
  for (int i = 0; i < 3; ++i) {
    const Value part = g.SliceAxis(projected, 2, first, first + widths[i]);
    ENCORE_RETURN_IF_ERROR(g.status());
    ENCORE_ASSIGN_OR_RETURN(*parts[i],
                            SplitHeads(context, part, heads, "weights"));
    first = first + widths[i];
  }
  if (context.HasInput(4)) {
    const Value past = context.Input(4);
    if (past.rank() != 5) {
      return context.ShapeMismatch(
          StrCat("input past is ", past.type(), ", expected rank 5"));
    }
    operands.past_key = g.Squeeze(g.SliceAxis(past, 0, 0, 1), {0});
    operands.past_value = g.Squeeze(g.SliceAxis(past, 0, 1, 2), {0});
    keys = keys + past.shape()[3];
  }
  ENCORE_ASSIGN_OR_RETURN(
      operands.bias,
      MaskAndBias(context, 3, 5, {shape[0], keys}, projected.dtype()));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> results,
                          Attended(context, operands, /*weights=*/false));
  ENCORE_RETURN_IF_ERROR(context.Output(0, results[0]));
  if (!context.WantsOutput(1)) return OkStatus();
  return context.Output(
      1, g.Concat({g.Unsqueeze(results[1], {0}), g.Unsqueeze(results[2], {0})},
                  0));
}

constexpr Converter kConverters[] = {
    {"com.microsoft.Attention", Attention, Op::kAttention},
    {"com.microsoft.MultiHeadAttention", MultiHeadAttention, Op::kAttention},
    {"com.microsoft.RotaryEmbedding", RotaryEmbedding, Op::kMul},
};

}  // namespace

std::span<const Converter> MicrosoftAttentionConverters() {
  return kConverters;
}

}  // namespace encore::onnx
