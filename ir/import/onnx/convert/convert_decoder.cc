// Operators of autoregressive models beside attention: rotary embedding, the
// update of a cache, linear attention, causal convolution.

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/import/onnx/shapes/heads.h"
#include "encore/ir/import/onnx/shapes/index_range.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

using Values = std::vector<Value>;

Value CastTo(NodeContext& context, Value x, DType dtype) {
  return x.dtype() == dtype ? x : context.builder().Cast(x, dtype);
}

// InvalidArgument where input i, if given, has another rank.
Status CheckRank(NodeContext& context, int i, int rank, std::string_view what) {
  if (!context.HasInput(i)) return OkStatus();
  const Value x = context.Input(i);
  if (x.rank() == rank) return OkStatus();
  return context.ShapeMismatch(
      StrCat("input ", what, " is ", x.type(), ", expected rank ", rank));
}

// Cosines or sines, input i, by batch, token and frequency: rows of a table at
// input 3, where positions are given.
StatusOr<Value> RotaryTable(NodeContext& context, int i,
                            std::string_view what) {
  const bool indexed = context.HasInput(3);
  ENCORE_RETURN_IF_ERROR(CheckRank(context, i, indexed ? 2 : 3, what));
  const Value table = context.Input(i);
  if (!indexed) return table;
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 3, 2, "position_ids"));
  const Value positions = context.Input(3);
  const Shape shape = context.shape(table);
  GatherAttrs gather;
  ENCORE_ASSIGN_OR_RETURN(
      gather.out_of_range,
      RuleForIndices(context, positions, shape[0], OutOfRange::kClamp));
  const Value from_start = FromStart(IndexExpr(context.builder(), positions),
                                     IndexExpr(context.builder(), shape[0]))
                               .ToValue(context.builder());
  gather.offset_dims = {2};
  gather.collapsed_slice_dims = {0};
  gather.start_index_map = {0};
  gather.index_vector_dim = 2;
  gather.slice_sizes = {1, shape[1]};
  return context.Emit(Op::kGather, {table, from_start}, std::move(gather));
}

// How many elements of each head turn.
StatusOr<Dim> RotaryWidth(NodeContext& context, const Dim& head) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t width,
                          context.attributes().Int("rotary_embedding_dim", 0));
  const Dim rotary = width == 0 ? head : Dim(width);
  const bool odd = rotary.is_constant() && rotary.constant() % 2 != 0;
  const bool wide = rotary.is_constant() && head.is_constant() &&
                    rotary.constant() > head.constant();
  if (!odd && !wide) return rotary;
  const auto symbols = context.builder().graph().symbols();
  return context.ShapeMismatch(
      StrCat("attribute rotary_embedding_dim is ", width, ", and heads are ",
             head.ToString(symbols), " wide, expected an even part of these"));
}

// `x`, whose last dim is `width` wide, with pairs of its elements turned by
// angles: pairs of neighbours, or of an element of each half.
Value Rotated(NodeContext& context, Value x, const Dim& width, Value cosine,
              Value sine, bool interleaved) {
  GraphBuilder& g = context.builder();
  const int64_t last = x.rank() - 1;
  const Dim half = FloorDiv(width, 2);
  const Value a = interleaved ? g.SliceAxis(x, last, 0, width, 2)
                              : g.SliceAxis(x, last, 0, half);
  const Value b = interleaved ? g.SliceAxis(x, last, 1, width, 2)
                              : g.SliceAxis(x, last, half, width);
  const auto product = [&](Value u, Value v) {
    return context.Emit(Op::kMul, BroadcastAll(context, {u, v}));
  };
  const Value real = g.Sub(product(a, cosine), product(b, sine));
  const Value imaginary = g.Add(product(a, sine), product(b, cosine));
  if (!interleaved) return g.Concat({real, imaginary}, last);
  const Value pairs = g.Concat({context.Unsqueeze(real, {last + 1}),
                                context.Unsqueeze(imaginary, {last + 1})},
                               last + 1);
  return g.Reshape(pairs, x.shape());
}

Status RotaryEmbedding(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 4));
  AttributeReader& attributes = context.attributes();
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(const bool interleaved,
                          attributes.Bool("interleaved", false));
  ENCORE_ASSIGN_OR_RETURN(const int64_t heads, attributes.Int("num_heads", 0));
  if (shape.rank() != 3 && shape.rank() != 4) {
    return context.ShapeMismatch(
        StrCat("input X is ", x.type(), ", expected rank 3 or 4"));
  }
  // [B, L, heads, D], or [B, heads, L, D] as it comes.
  const int head_axis = shape.rank() == 3 ? 2 : 1;
  if (shape.rank() == 3) {
    if (heads == 0) return NodeContext::Error("attribute num_heads is missing");
    ENCORE_ASSIGN_OR_RETURN(x, HeadsApart(context, x, heads, "X"));
  }
  ENCORE_RETURN_IF_ERROR(g.status());
  const Dim head = context.shape(x)[3];
  ENCORE_ASSIGN_OR_RETURN(const Dim width, RotaryWidth(context, head));
  ENCORE_ASSIGN_OR_RETURN(Value cosine, RotaryTable(context, 1, "cos_cache"));
  ENCORE_ASSIGN_OR_RETURN(Value sine, RotaryTable(context, 2, "sin_cache"));
  ENCORE_RETURN_IF_ERROR(g.status());
  cosine = context.Unsqueeze(cosine, {head_axis});
  sine = context.Unsqueeze(sine, {head_axis});
  Value y = Rotated(context, g.SliceAxis(x, 3, 0, width), width, cosine, sine,
                    interleaved);
  if (!(width == head)) y = g.Concat({y, g.SliceAxis(x, 3, width, head)}, 3);
  ENCORE_RETURN_IF_ERROR(g.status());
  return context.Output(0, context.Reshape(y, shape.dims()));
}

// Where each token of the update goes in the cache: [B, L], by sample.
StatusOr<Value> WritePositions(NodeContext& context, const Shape& update,
                               const Dim& capacity, int axis, bool circular) {
  GraphBuilder& g = context.builder();
  const Dim& batch = update[0];
  const Shape shape({batch, update[axis]});
  Value at = g.Iota(DType::kI64, shape, 1);
  if (context.HasInput(2)) {
    ENCORE_RETURN_IF_ERROR(context.CheckVector(2, "write_indices"));
    at = context.Emit(
        Op::kAdd,
        BroadcastAll(context, {at, g.Unsqueeze(CastTo(context, context.Input(2),
                                                      DType::kI64),
                                               {1})}));
  }
  if (!circular) return at;
  const Value size = DimValue(context, capacity);
  const Value rest = g.Rem(at, size);
  return g.Select(g.Compare(rest, int64_t{0}, Comparison::kLt),
                  g.Add(rest, size), rest);
}

Status TensorScatter(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 3));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const std::string mode,
                          context.attributes().String("mode", "linear"));
  std::vector<Value> both = {context.Input(0), context.Input(1)};
  const int rank = both[0].rank();
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis, context.AxisAttribute(-2, rank));
  if (axis == 0) {
    return NodeContext::Error("attribute axis is 0, the dim of the batch");
  }
  if (both[1].rank() != rank) {
    return context.ShapeMismatch(StrCat("inputs past_cache and update are ",
                                        both[0].type(), " and ", both[1].type(),
                                        ", expected one rank"));
  }
  UnifyDimsExcept(context, static_cast<int>(axis), &both);
  ENCORE_RETURN_IF_ERROR(g.status());
  const Shape cache = context.shape(both[0]), update = context.shape(both[1]);
  for (int i = 0; i < rank; ++i) {
    if (i == axis || !cache[i].is_constant() || !update[i].is_constant() ||
        cache[i] == update[i]) {
      continue;
    }
    return context.ShapeMismatch(
        StrCat("inputs past_cache and update are ", both[0].type(), " and ",
               both[1].type(), ", expected the same extents but for attribute ",
               "axis, which is ", axis));
  }
  const Dim &capacity = cache[axis], &length = update[axis];
  if (capacity.is_constant() && length.is_constant() &&
      length.constant() > capacity.constant()) {
    return context.ShapeMismatch(StrCat("input update is ", both[1].type(),
                                        ", longer than the cache, ",
                                        both[0].type()));
  }
  const bool circular = mode == "circular";
  ENCORE_ASSIGN_OR_RETURN(
      const Value at,
      WritePositions(context, update, capacity, axis, circular));
  ScatterAttrs scatter;
  scatter.inserted_window_dims = {0, axis};
  scatter.scatter_dims_to_operand_dims = {0, axis};
  for (int64_t i = 1; i < rank; ++i) {
    if (i != axis) scatter.update_window_dims.push_back(i);
  }
  scatter.index_vector_dim = 2;
  scatter.out_of_range = circular ? OutOfRange::kDrop : OutOfRange::kError;
  const Value sample = g.Iota(DType::kI64, context.shape(at), 0);
  const Value indices =
      g.Concat({g.Unsqueeze(sample, {2}), g.Unsqueeze(at, {2})}, 2);
  return context.Output(0,
                        context.Emit(Op::kScatter, {both[0], indices, both[1]},
                                     std::move(scatter)));
}

// A LinearAttention: the state, [B, kv_heads, D, E] in f32, goes from token to
// token.
struct Recurrence {
  bool gated = false, corrected = false;
  double scale = 1;
  Dim batch, length, key_width, value_width;
  int64_t kv_heads = 1, group = 1;
  Value state;
  // By token: queries [T, B, kv_heads, group, D], keys [T, B, kv_heads, D],
  // values [T, B, kv_heads, E]; decay [T, B, kv_heads, D or 1] and rates
  // [T, B, kv_heads or 1, 1] where the rule has them.
  Values sequences;
};

// Of one token: the new state and the output, [B, kv_heads, group, E]. `token`
// has the token's part of each sequence.
Values NextState(GraphBuilder& g, const Recurrence& rule, Value state,
                 std::span<const Value> token) {
  const Value query = token[0], key = token[1];
  Value value = token[2];
  const AxisPairs heads = {{0, 1}, {0, 1}};
  if (rule.gated) state = g.Mul(state, g.Unsqueeze(g.Exp(token[3]), {3}));
  if (rule.corrected) {
    const Value known = g.DotGeneral(key, state, {{2}, {2}}, heads);
    value = g.Mul(token.back(), g.Sub(value, known));
  }
  state = g.Add(state, g.Mul(g.Unsqueeze(key, {3}), g.Unsqueeze(value, {2})));
  const Value read = g.DotGeneral(query, state, {{3}, {2}}, heads);
  return {state, g.Mul(read, rule.scale)};
}

// Input i, [B, T, heads * width], as [T, B, heads, width] in f32.
StatusOr<Value> ByToken(NodeContext& context, int i, std::string_view what,
                        int64_t heads) {
  ENCORE_RETURN_IF_ERROR(CheckRank(context, i, 3, what));
  GraphBuilder& g = context.builder();
  const Value x = CastTo(context, context.Input(i), DType::kF32);
  ENCORE_ASSIGN_OR_RETURN(const Value apart,
                          HeadsApart(context, x, heads, what));
  ENCORE_RETURN_IF_ERROR(g.status());
  return g.Transpose(apart, {1, 0, 2, 3});
}

// The rule of attribute update_rule; inputs that it does not take are refused.
Status ReadRule(NodeContext& context, Recurrence* rule) {
  ENCORE_ASSIGN_OR_RETURN(
      const std::string name,
      context.attributes().String("update_rule", "gated_delta"));
  rule->gated = name == "gated" || name == "gated_delta";
  rule->corrected = name == "delta" || name == "gated_delta";
  const auto check = [&](int input, std::string_view what, bool wanted) {
    if (context.HasInput(input) == wanted) return OkStatus();
    return NodeContext::Error(
        StrCat("attribute update_rule is ", Quote(name), ", with which input ",
               what, wanted ? " is missing" : " has no meaning"));
  };
  ENCORE_RETURN_IF_ERROR(check(4, "decay", rule->gated));
  return check(5, "beta", rule->corrected);
}

// Decay and rates, whose last dim says whether heads share them.
Status ReadGates(NodeContext& context, Recurrence* rule) {
  const auto width = [&](int i) -> Dim {
    return context.shape(context.Input(i))[2];
  };
  if (rule->gated) {
    ENCORE_ASSIGN_OR_RETURN(const Value decay,
                            ByToken(context, 4, "decay", rule->kv_heads));
    const Dim own = context.shape(decay)[3];
    if (!(own == Dim(1)) && !(own == rule->key_width)) {
      return context.ShapeMismatch(
          StrCat("input decay is ", context.Input(4).type(),
                 ", expected one number for each head, or as wide as keys"));
    }
    rule->sequences.push_back(decay);
  }
  if (!rule->corrected) return OkStatus();
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 5, 3, "beta"));
  const bool shared = width(5) == Dim(1);
  if (!shared && !(width(5) == Dim(rule->kv_heads))) {
    return context.ShapeMismatch(
        StrCat("input beta is ", context.Input(5).type(),
               ", expected one number, or one for each of ", rule->kv_heads,
               " heads"));
  }
  ENCORE_ASSIGN_OR_RETURN(
      const Value rate,
      ByToken(context, 5, "beta", shared ? 1 : rule->kv_heads));
  rule->sequences.push_back(rate);
  return OkStatus();
}

// Queries, keys and values, and what their shapes say.
Status ReadTokens(NodeContext& context, Recurrence* rule) {
  AttributeReader& attributes = context.attributes();
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const int64_t q_heads,
                          attributes.RequiredInt("q_num_heads"));
  ENCORE_ASSIGN_OR_RETURN(rule->kv_heads,
                          attributes.RequiredInt("kv_num_heads"));
  if (q_heads % rule->kv_heads != 0) {
    return NodeContext::Error(StrCat("attribute q_num_heads is ", q_heads,
                                     ", expected a multiple of kv_num_heads, ",
                                     rule->kv_heads));
  }
  rule->group = q_heads / rule->kv_heads;
  ENCORE_ASSIGN_OR_RETURN(Value query, ByToken(context, 0, "query", q_heads));
  ENCORE_ASSIGN_OR_RETURN(Value key,
                          ByToken(context, 1, "key", rule->kv_heads));
  ENCORE_ASSIGN_OR_RETURN(Value value,
                          ByToken(context, 2, "value", rule->kv_heads));
  for (const int axis : {0, 1}) {
    UnifyDims(context, &query, axis, &key, axis);
    UnifyDims(context, &key, axis, &value, axis);
  }
  UnifyDims(context, &query, 3, &key, 3);
  const Shape shape = context.shape(key);
  rule->length = shape[0];
  rule->batch = shape[1];
  rule->key_width = shape[3];
  rule->value_width = context.shape(value)[3];
  query = context.Reshape(query, {rule->length, rule->batch, rule->kv_heads,
                                  rule->group, rule->key_width});
  rule->sequences = {query, key, value};
  return g.status();
}

Status ReadState(NodeContext& context, Recurrence* rule) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const float scale,
                          context.attributes().Float("scale", 0));
  rule->scale = scale;
  if (scale == 0) {
    if (!rule->key_width.is_constant()) {
      return context.Unknown(
          "the width of keys, which scale comes from, is "
          "not known, and attribute scale is missing");
    }
    rule->scale =
        1 / std::sqrt(static_cast<double>(rule->key_width.constant()));
  }
  const Shape shape(
      {rule->batch, rule->kv_heads, rule->key_width, rule->value_width});
  if (!context.HasInput(3)) {
    rule->state = g.Full(shape, context.Scalar(DType::kF32, 0));
    return OkStatus();
  }
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 3, 4, "past_state"));
  rule->state = context.Input(3);
  UnifyDims(context, &rule->state, 0, &rule->sequences[1], 1);
  if (!(context.shape(rule->state) == shape)) {
    return context.ShapeMismatch(StrCat("input past_state is ",
                                        rule->state.type(), ", expected ",
                                        shape.ToString(g.graph().symbols())));
  }
  rule->state = CastTo(context, rule->state, DType::kF32);
  return OkStatus();
}

// The last state and the outputs of all tokens, [T, B, kv_heads, group, E].
Values RunTokens(GraphBuilder& g, const Recurrence& rule) {
  if (rule.length == Dim(1)) {
    Values token;
    for (const Value& sequence : rule.sequences) {
      token.push_back(g.Squeeze(sequence, {0}));
    }
    Values results = NextState(g, rule, rule.state, token);
    results[1] = g.Unsqueeze(results[1], {0});
    return results;
  }
  Values operands = {rule.state};
  operands.insert(operands.end(), rule.sequences.begin(), rule.sequences.end());
  ScanAttrs attrs;
  attrs.carried = 1;
  attrs.scan_axes = Ints(operands.size(), 0);
  attrs.directions = Ints(operands.size(), 0);
  return g.Scan(
      operands,
      [&](GraphBuilder& body, std::span<const Value> inputs) {
        return NextState(body, rule, inputs[0], inputs.subspan(1));
      },
      std::move(attrs));
}

Status LinearAttention(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 6));
  GraphBuilder& g = context.builder();
  context.attributes().Ignore("chunk_size");
  Recurrence rule;
  ENCORE_RETURN_IF_ERROR(ReadRule(context, &rule));
  ENCORE_RETURN_IF_ERROR(ReadTokens(context, &rule));
  ENCORE_RETURN_IF_ERROR(ReadGates(context, &rule));
  ENCORE_RETURN_IF_ERROR(ReadState(context, &rule));
  ENCORE_RETURN_IF_ERROR(g.status());
  const Values results = RunTokens(g, rule);
  ENCORE_RETURN_IF_ERROR(g.status());
  const DType dtype = context.dtype(context.Input(0));
  const DType state =
      context.HasInput(3) ? context.dtype(context.Input(3)) : dtype;
  const Value by_sample = g.Transpose(results[1], {1, 0, 2, 3, 4});
  const Value y = context.Reshape(
      by_sample, {rule.batch, rule.length,
                  rule.value_width * (rule.kv_heads * rule.group)});
  ENCORE_RETURN_IF_ERROR(context.Output(0, CastTo(context, y, dtype)));
  return context.Output(1, CastTo(context, results[0], state));
}

// Each channel's own kernel over what came before and now: the inputs before
// are a state, of which the last ones are handed on.
Status CausalConvWithState(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 4));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const std::string activation,
                          context.attributes().String("activation", "none"));
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 0, 3, "input"));
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 1, 3, "weight"));
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 2, 1, "bias"));
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 3, 3, "past_state"));
  Value x = context.Input(0);
  const Value kernel = context.Input(1);
  const Shape weights = context.shape(kernel);
  if (!weights[0].is_constant() || !weights[2].is_constant() ||
      !(weights[1] == Dim(1)) || weights[0].constant() < 1 ||
      weights[2].constant() < 1) {
    return context.ShapeMismatch(StrCat("input weight is ", kernel.type(),
                                        ", expected [channels, 1, k]"));
  }
  const Dim length = context.shape(x)[2];
  const int64_t before = weights[2].constant() - 1;
  if (context.HasInput(3)) {
    Values both = {context.Input(3), x};
    UnifyDimsExcept(context, 2, &both);
    if (!(context.shape(both[0])[2] == Dim(before))) {
      return context.ShapeMismatch(StrCat("input past_state is ",
                                          both[0].type(), ", expected ", before,
                                          " elements of each channel"));
    }
    x = g.Concat(both, 2);
  } else {
    x = g.Pad(x, context.Scalar(x.dtype(), 0), {0, 0, before}, {0, 0, 0});
  }
  ENCORE_RETURN_IF_ERROR(g.status());
  ConvolutionAttrs attrs;
  attrs.feature_groups = weights[0].constant();
  Value y = g.Convolution(x, kernel, std::move(attrs));
  if (context.HasInput(2)) {
    y = g.Add(y, context.PerChannel(context.Input(2), 3));
  }
  if (activation != "none") y = g.Silu(y);
  ENCORE_RETURN_IF_ERROR(context.Output(0, y));
  return context.Output(1, g.SliceAxis(x, 2, length, length + before));
}

constexpr Converter kConverters[] = {
    {"CausalConvWithState", CausalConvWithState, Op::kConvolution},
    {"LinearAttention", LinearAttention, Op::kScan},
    {"RotaryEmbedding", RotaryEmbedding, Op::kMul},
    {"TensorScatter", TensorScatter, Op::kScatter},
};

}  // namespace

std::span<const Converter> DecoderConverters() { return kConverters; }

}  // namespace encore::onnx
