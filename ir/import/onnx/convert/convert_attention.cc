// Attention and FlexAttention. Queries of the heads that share keys stand one
// after the other in one product, so that keys are not repeated.

#include <cmath>
#include <optional>
#include <vector>

#include "encore/ir/import/onnx/control/subgraphs.h"
#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Queries [B, heads, L, D], keys [B, kv_heads, S, D] and values [B, kv_heads,
// S, E] of a node.
struct Heads {
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

// [B, L, heads * D] as [B, heads, L, D].
Value SplitHeads(NodeContext& context, Value x, int64_t heads) {
  const Shape shape = context.shape(x);
  return context.builder().Transpose(
      context.Reshape(x,
                      {shape[0], shape[1], heads, FloorDiv(shape[2], heads)}),
      {0, 2, 1, 3});
}

// [B, heads, L, D] as [B, L, heads * D].
Value MergeHeads(NodeContext& context, Value x) {
  const Value swapped = context.builder().Transpose(x, {0, 2, 1, 3});
  const Shape shape = context.shape(swapped);
  return context.Reshape(swapped, {shape[0], shape[1], shape[2] * shape[3]});
}

// Extents that must be equal, made so where data say them.
void Unify(NodeContext& context, Heads* heads) {
  for (const int axis : {1, 2}) {
    UnifyDims(context, &heads->key, axis, &heads->value, axis);
  }
  UnifyDims(context, &heads->query, 3, &heads->key, 3);
  UnifyDims(context, &heads->query, 0, &heads->key, 0);
  UnifyDims(context, &heads->key, 0, &heads->value, 0);
}

Status CheckHeads(NodeContext& context, const Heads& heads) {
  const Dim q = heads.heads(), k = heads.kv_heads();
  const bool divides =
      q == k || (q.is_constant() && k.is_constant() && k.constant() > 0 &&
                 q.constant() % k.constant() == 0);
  if (divides) return OkStatus();
  return context.ShapeMismatch(
      StrCat("inputs Q and K are ", heads.query.type(), " and ",
             heads.key.type(), ": the heads of Q must be a multiple of K's"));
}

// The node's inputs Q, K and V with their heads as a dim.
StatusOr<Heads> ReadHeads(NodeContext& context) {
  AttributeReader& attributes = context.attributes();
  Heads heads{context.Input(0), context.Input(1), context.Input(2)};
  const int rank = heads.query.rank();
  if ((rank != 3 && rank != 4) || heads.key.rank() != rank ||
      heads.value.rank() != rank) {
    return context.ShapeMismatch(
        StrCat("inputs Q, K and V are ", heads.query.type(), ", ",
               heads.key.type(), " and ", heads.value.type(),
               ", expected three of rank 3 or of rank 4"));
  }
  if (rank == 4) {
    attributes.Ignore("q_num_heads");
    attributes.Ignore("kv_num_heads");
    return heads;
  }
  ENCORE_ASSIGN_OR_RETURN(const int64_t q_heads,
                          attributes.RequiredInt("q_num_heads"));
  ENCORE_ASSIGN_OR_RETURN(const int64_t kv_heads,
                          attributes.RequiredInt("kv_num_heads"));
  const auto check = [&](Value x, int64_t count, std::string_view name) {
    const Dim width = x.shape()[2];
    if (!width.is_constant() || width.constant() % count == 0) {
      return OkStatus();
    }
    return context.ShapeMismatch(StrCat("input ", name, " is ", x.type(),
                                        ", not a multiple of ", count,
                                        " heads wide"));
  };
  ENCORE_RETURN_IF_ERROR(check(heads.query, q_heads, "Q"));
  ENCORE_RETURN_IF_ERROR(check(heads.key, kv_heads, "K"));
  ENCORE_RETURN_IF_ERROR(check(heads.value, kv_heads, "V"));
  return Heads{SplitHeads(context, heads.query, q_heads),
               SplitHeads(context, heads.key, kv_heads),
               SplitHeads(context, heads.value, kv_heads)};
}

// Attribute scale, or 1 / sqrt(D), as a number where D is known.
struct Scale {
  std::optional<double> number;
  Value value;  // else
};

StatusOr<Scale> ReadScale(NodeContext& context, const Dim& width) {
  if (context.attributes().Has("scale")) {
    ENCORE_ASSIGN_OR_RETURN(const float scale,
                            context.attributes().Float("scale", 0));
    return Scale{scale, {}};
  }
  if (width.is_constant()) {
    return Scale{1 / std::sqrt(static_cast<double>(width.constant())), {}};
  }
  GraphBuilder& g = context.builder();
  return Scale{{}, g.Rsqrt(g.Cast(DimValue(context, width), DType::kF32))};
}

// scale * Q K^T, [B, heads, L, S]. In narrow floats the root of the scale is in
// both factors, where the product could overflow.
Value Scores(NodeContext& context, const Heads& heads, const Scale& scale) {
  GraphBuilder& g = context.builder();
  const DType dtype = heads.query.dtype();
  Value query = heads.query, key = heads.key;
  const bool both = BitWidth(dtype) < 32 && scale.number.value_or(1) > 0;
  if (scale.number) {
    const double factor = both ? std::sqrt(*scale.number) : *scale.number;
    query = g.Mul(query, factor);
    if (both) key = g.Mul(key, factor);
  } else {
    const Value factor =
        g.Cast(both ? g.Sqrt(scale.value) : scale.value, dtype);
    query = g.Mul(query, factor);
    if (both) key = g.Mul(key, factor);
  }
  const Value grouped = context.Reshape(
      query,
      {heads.batch(), heads.kv_heads(), heads.grouped(), query.shape()[3]});
  return context.Reshape(
      g.DotGeneral(grouped, key, {{3}, {3}}, {{0, 1}, {0, 1}}),
      {heads.batch(), heads.heads(), heads.queries(), heads.keys()});
}

// Sums of the values, [B, heads, L, E], under weights [B, heads, L, S].
Value WeightedValues(NodeContext& context, const Heads& heads, Value weights) {
  GraphBuilder& g = context.builder();
  Value value = heads.value;
  if (value.dtype() != weights.dtype()) value = g.Cast(value, weights.dtype());
  const Value grouped = context.Reshape(
      weights,
      {heads.batch(), heads.kv_heads(), heads.grouped(), heads.keys()});
  return context.Reshape(
      g.DotGeneral(grouped, value, {{3}, {2}}, {{0, 1}, {0, 1}}),
      {heads.batch(), heads.heads(), heads.queries(), value.shape()[3]});
}

// The dtype that attribute softmax_precision names, else `otherwise`.
StatusOr<DType> SoftmaxDType(NodeContext& context, DType otherwise) {
  if (!context.attributes().Has("softmax_precision")) return otherwise;
  ENCORE_ASSIGN_OR_RETURN(const int64_t number,
                          context.attributes().Int("softmax_precision", 0));
  const StatusOr<DType> dtype = DTypeOf(static_cast<int32_t>(number));
  if (!dtype.ok()) {
    return Annotate(dtype.status(), "attribute softmax_precision");
  }
  if (!IsFloat(*dtype) || BitWidth(*dtype) < 16) {
    return NodeContext::Error(StrCat("attribute softmax_precision is ", *dtype,
                                     ", expected f16, bf16, f32 or f64"));
  }
  return *dtype;
}

Value CastTo(NodeContext& context, Value x, DType dtype) {
  return x.dtype() == dtype ? x : context.builder().Cast(x, dtype);
}

// What is added to scores, and which keys a query may see at all. Each
// broadcasts to [B, heads, L, S]; invalid where there is none.
struct Masks {
  Value bias, seen;
  // Whether a query may be left without any key.
  bool may_be_empty = false;
};

void AddSeen(NodeContext& context, Value seen, Masks* masks) {
  masks->seen =
      masks->seen.valid()
          ? context.Emit(Op::kAnd, BroadcastAll(context, {masks->seen, seen}))
          : seen;
}

// Input attn_mask, filled along the keys with what hides them.
Status AddMask(NodeContext& context, const Heads& heads, Masks* masks) {
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
  if (!is_bool) mask = CastTo(context, mask, heads.query.dtype());
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
Positions MakePositions(NodeContext& context, const Heads& heads,
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
StatusOr<Value> Lengths(NodeContext& context, Heads* heads) {
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

// `past`: how many keys come from the cache.
StatusOr<Masks> ReadMasks(NodeContext& context, Heads* heads, const Dim& past) {
  AttributeReader& attributes = context.attributes();
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const bool causal,
                          attributes.Bool("is_causal", false));
  ENCORE_ASSIGN_OR_RETURN(const int64_t left,
                          attributes.Int("left_window_size", -1));
  ENCORE_ASSIGN_OR_RETURN(const int64_t right,
                          attributes.Int("right_window_size", -1));
  ENCORE_ASSIGN_OR_RETURN(const Value lengths, Lengths(context, heads));
  Masks masks;
  ENCORE_RETURN_IF_ERROR(AddMask(context, *heads, &masks));
  if (!causal && left < 0 && right < 0 && !lengths.valid()) return masks;
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

// Scores with the masks in them.
Value Masked(NodeContext& context, Value scores, const Masks& masks) {
  if (masks.bias.valid()) {
    scores =
        context.Emit(Op::kAdd, BroadcastAll(context, {scores, masks.bias}));
  }
  if (!masks.seen.valid()) return scores;
  const Value hidden = context.Scalar(scores.dtype(), -INFINITY);
  return context.Emit(Op::kSelect,
                      BroadcastAll(context, {masks.seen, scores, hidden}));
}

// `weights` with zeros in the rows of queries that see no key.
Value WithoutEmptyRows(NodeContext& context, Value weights,
                       const Masks& masks) {
  if (!masks.may_be_empty) return weights;
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
  const Value zero = context.Scalar(weights.dtype(), 0);
  return context.Emit(Op::kSelect, BroadcastAll(context, {any, weights, zero}));
}

// Puts the keys and values of the cache before the node's own, which are
// outputs 1 and 2: how many there are in it.
StatusOr<Dim> AddPast(NodeContext& context, Heads* heads) {
  if (context.HasInput(4) != context.HasInput(5)) {
    return NodeContext::Error(
        "one of inputs past_key and past_value is given, expected both");
  }
  Dim past = 0;
  if (context.HasInput(4)) {
    GraphBuilder& g = context.builder();
    const auto join = [&](int input, Value* own) {
      std::vector<Value> both = {context.Input(input), *own};
      UnifyDimsExcept(context, 2, &both);
      *own = g.Concat(both, 2);
    };
    for (const int i : {4, 5}) {
      if (context.rank(context.Input(i)) == 4) continue;
      return context.ShapeMismatch(
          StrCat("inputs past_key and past_value are ", context.Input(4).type(),
                 " and ", context.Input(5).type(), ", expected rank 4"));
    }
    past = context.shape(context.Input(4))[2];
    join(4, &heads->key);
    join(5, &heads->value);
    ENCORE_RETURN_IF_ERROR(g.status());
  }
  ENCORE_RETURN_IF_ERROR(context.Output(1, heads->key));
  ENCORE_RETURN_IF_ERROR(context.Output(2, heads->value));
  return past;
}

// Status of an Attention whose scores are computed: softcap, masks, softmax;
// output 3 is what attribute qk_matmul_output_mode asks for.
StatusOr<Value> Weights(NodeContext& context, Value scores,
                        const Masks& masks) {
  AttributeReader& attributes = context.attributes();
  GraphBuilder& g = context.builder();
  const DType dtype = scores.dtype();
  ENCORE_ASSIGN_OR_RETURN(const float softcap, attributes.Float("softcap", 0));
  ENCORE_ASSIGN_OR_RETURN(const int64_t mode,
                          attributes.Int("qk_matmul_output_mode", 0));
  ENCORE_ASSIGN_OR_RETURN(const DType precision, SoftmaxDType(context, dtype));
  Value stages[4] = {scores};
  stages[1] =
      softcap > 0 ? g.Mul(g.Tanh(g.Div(scores, softcap)), softcap) : scores;
  stages[2] = Masked(context, stages[1], masks);
  const Value weights = g.Softmax(CastTo(context, stages[2], precision), 3);
  ENCORE_RETURN_IF_ERROR(g.status());
  stages[3] = CastTo(context, WithoutEmptyRows(context, weights, masks), dtype);
  ENCORE_RETURN_IF_ERROR(context.Output(3, stages[mode]));
  return stages[3];
}

Status Attention(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 7));
  const bool packed = context.rank(context.Input(0)) == 3;
  ENCORE_ASSIGN_OR_RETURN(Heads heads, ReadHeads(context));
  ENCORE_ASSIGN_OR_RETURN(const Dim past, AddPast(context, &heads));
  Unify(context, &heads);
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  ENCORE_RETURN_IF_ERROR(CheckHeads(context, heads));
  ENCORE_ASSIGN_OR_RETURN(const Masks masks, ReadMasks(context, &heads, past));
  ENCORE_ASSIGN_OR_RETURN(const Scale scale,
                          ReadScale(context, heads.query.shape()[3]));
  const Value scores = Scores(context, heads, scale);
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  ENCORE_ASSIGN_OR_RETURN(const Value weights, Weights(context, scores, masks));
  const Value y = WeightedValues(context, heads, weights);
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  return context.Output(0, packed ? MergeHeads(context, y) : y);
}

// `x` as the subgraph of that attribute makes it, if there is one.
StatusOr<Value> Modified(NodeContext& context, std::string_view attribute,
                         Value x) {
  if (!context.attributes().Has(attribute)) return x;
  ENCORE_ASSIGN_OR_RETURN(const Graph* graph,
                          context.attributes().RequiredGraph(attribute));
  if (graph->inputs.size() != 1 || graph->outputs.size() != 1) {
    return NodeContext::Error(StrCat(
        "attribute ", attribute, " has ", graph->inputs.size(), " inputs and ",
        graph->outputs.size(), " outputs, expected one of each"));
  }
  ENCORE_RETURN_IF_ERROR(
      CheckFormal(context.scope(), graph->inputs[0], x.type(), true));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> results,
                          Inline(context, *graph, {&x, 1}));
  if (results[0].type() == x.type()) return results[0];
  return context.ShapeMismatch(StrCat("attribute ", attribute, " gives ",
                                      results[0].type(), ", expected ",
                                      x.type()));
}

Status FlexAttention(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 3));
  GraphBuilder& g = context.builder();
  Heads heads{context.Input(0), context.Input(1), context.Input(2)};
  const DType dtype = heads.query.dtype();
  for (const Value& x : {heads.query, heads.key, heads.value}) {
    if (x.rank() == 4) continue;
    return context.ShapeMismatch(
        StrCat("one of inputs Q, K and V is ", x.type(), ", expected rank 4"));
  }
  Unify(context, &heads);
  ENCORE_RETURN_IF_ERROR(g.status());
  ENCORE_RETURN_IF_ERROR(CheckHeads(context, heads));
  ENCORE_ASSIGN_OR_RETURN(
      const DType precision,
      SoftmaxDType(context, BitWidth(dtype) < 32 ? DType::kF32 : dtype));
  ENCORE_ASSIGN_OR_RETURN(const Scale scale,
                          ReadScale(context, heads.query.shape()[3]));
  Value x = CastTo(context, Scores(context, heads, scale), precision);
  ENCORE_RETURN_IF_ERROR(g.status());
  ENCORE_ASSIGN_OR_RETURN(x, Modified(context, "score_mod", x));
  x = g.Softmax(x, 3);
  ENCORE_RETURN_IF_ERROR(g.status());
  ENCORE_ASSIGN_OR_RETURN(x, Modified(context, "prob_mod", x));
  return context.Output(
      0, CastTo(context, WeightedValues(context, heads, x), dtype));
}

constexpr Converter kConverters[] = {
    {"Attention", Attention, Op::kDotGeneral},
    {"ai.onnx.preview.FlexAttention", FlexAttention, Op::kDotGeneral},
};

}  // namespace

std::span<const Converter> AttentionConverters() { return kConverters; }

}  // namespace encore::onnx
