// Attention and FlexAttention. What kAttention says becomes it; else queries of
// the heads that share keys stand one after the other in one product here, as
// they do in its decomposition, so that keys are not repeated.

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "encore/ir/import/onnx/control/subgraphs.h"
#include "encore/ir/import/onnx/convert/attention_masks.h"
#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/import/onnx/shapes/heads.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Extents that must be equal, made so where data say them.
void Unify(NodeContext& context, AttentionHeads* heads) {
  for (const int axis : {1, 2}) {
    UnifyDims(context, &heads->key, axis, &heads->value, axis);
  }
  UnifyDims(context, &heads->query, 3, &heads->key, 3);
  UnifyDims(context, &heads->query, 0, &heads->key, 0);
  UnifyDims(context, &heads->key, 0, &heads->value, 0);
}

Status CheckHeads(NodeContext& context, const AttentionHeads& heads) {
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
StatusOr<AttentionHeads> ReadHeads(NodeContext& context) {
  AttributeReader& attributes = context.attributes();
  AttentionHeads heads{context.Input(0), context.Input(1), context.Input(2)};
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
  ENCORE_ASSIGN_OR_RETURN(heads.query,
                          SplitHeads(context, heads.query, q_heads, "Q"));
  ENCORE_ASSIGN_OR_RETURN(heads.key,
                          SplitHeads(context, heads.key, kv_heads, "K"));
  ENCORE_ASSIGN_OR_RETURN(heads.value,
                          SplitHeads(context, heads.value, kv_heads, "V"));
  return heads;
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
Value Scores(NodeContext& context, const AttentionHeads& heads,
             const Scale& scale) {
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
  const Value grouped =
      context.Reshape(query, {heads.batch(), heads.kv_heads(), heads.grouped(),
                              heads.query.shape()[3]});
  return context.Reshape(
      g.DotGeneral(grouped, key, {{3}, {3}}, {{0, 1}, {0, 1}}),
      {heads.batch(), heads.heads(), heads.queries(), heads.keys()});
}

// Sums of the values, [B, heads, L, E], under weights [B, heads, L, S].
Value WeightedValues(NodeContext& context, const AttentionHeads& heads,
                     Value weights) {
  GraphBuilder& g = context.builder();
  Value value = heads.value;
  if (value.dtype() != weights.dtype()) value = g.Cast(value, weights.dtype());
  const Value grouped = context.Reshape(
      weights,
      {heads.batch(), heads.kv_heads(), heads.grouped(), heads.keys()});
  return context.Reshape(
      g.DotGeneral(grouped, value, {{3}, {2}}, {{0, 1}, {0, 1}}),
      {heads.batch(), heads.heads(), heads.queries(), heads.value.shape()[3]});
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

// Puts the keys and values of the cache before the node's own, which are
// outputs 1 and 2: how many there are in it.
StatusOr<Dim> AddPast(NodeContext& context, AttentionHeads* heads) {
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
                        const AttentionMasks& masks) {
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

// Whether kAttention says the same, masks apart: it has one dtype, computes
// narrow floats in f32, and shows neither scores nor weights.
StatusOr<bool> IsPlain(NodeContext& context, const AttentionHeads& heads) {
  const DType dtype = heads.query.dtype();
  const DType wide = BitWidth(dtype) < 32 ? DType::kF32 : dtype;
  ENCORE_ASSIGN_OR_RETURN(const DType precision, SoftmaxDType(context, wide));
  return precision == wide && heads.key.dtype() == dtype &&
         heads.value.dtype() == dtype && !context.WantsOutput(3);
}

// The result by kAttention; invalid where it does not say it.
StatusOr<Value> Composite(NodeContext& context, const AttentionHeads& heads,
                          const Scale& scale, const AttentionMasks& masks) {
  AttributeReader& attributes = context.attributes();
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const float softcap, attributes.Float("softcap", 0));
  attributes.Ignore("qk_matmul_output_mode");
  const std::optional<Value> mask = AddedMask(context, heads, masks);
  ENCORE_RETURN_IF_ERROR(g.status());
  if (!mask) return Value();
  Value query = heads.query;
  if (!scale.number) query = g.Mul(query, g.Cast(scale.value, query.dtype()));
  const Value y = g.Attention(
      query, heads.key, heads.value, *mask,
      {scale.number.value_or(1), masks.causal, std::max(softcap, 0.0f)});
  ENCORE_RETURN_IF_ERROR(g.status());
  return WithoutEmptyRows(context, y, masks);
}

// The same, a step at a time.
StatusOr<Value> Steps(NodeContext& context, const AttentionHeads& heads,
                      const Scale& scale, const AttentionMasks& masks) {
  const Value scores = Scores(context, heads, scale);
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  ENCORE_ASSIGN_OR_RETURN(const Value weights, Weights(context, scores, masks));
  return WeightedValues(context, heads, weights);
}

Status Attention(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 7));
  const bool packed = context.rank(context.Input(0)) == 3;
  ENCORE_ASSIGN_OR_RETURN(AttentionHeads heads, ReadHeads(context));
  ENCORE_ASSIGN_OR_RETURN(const Dim past, AddPast(context, &heads));
  Unify(context, &heads);
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  ENCORE_RETURN_IF_ERROR(CheckHeads(context, heads));
  ENCORE_ASSIGN_OR_RETURN(const bool plain, IsPlain(context, heads));
  ENCORE_ASSIGN_OR_RETURN(const AttentionMasks masks,
                          ReadMasks(context, &heads, past, plain));
  ENCORE_ASSIGN_OR_RETURN(const Scale scale,
                          ReadScale(context, heads.query.shape()[3]));
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  Value y;
  if (plain) {
    ENCORE_ASSIGN_OR_RETURN(y, Composite(context, heads, scale, masks));
  }
  if (!y.valid()) {
    ENCORE_ASSIGN_OR_RETURN(y, Steps(context, heads, scale, masks));
  }
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
  AttentionHeads heads{context.Input(0), context.Input(1), context.Input(2)};
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
    {"Attention", Attention, Op::kAttention},
    {"ai.onnx.preview.FlexAttention", FlexAttention, Op::kDotGeneral},
};

}  // namespace

std::span<const Converter> AttentionConverters() { return kConverters; }

}  // namespace encore::onnx
