// GroupQueryAttention: attention whose samples have keys and values of their
// own number in a cache.

#include <cmath>
#include <string>
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

// Inputs by number.
enum Input {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotalLength,
  kCosine,
  kSine,
  kPositions,
  kBias,
  kSink
};

// The operands, [B, heads, L, D], and where their tokens stand.
struct Group {
  Value query, key, value;
  Dim batch, queries;
  // Tokens of each sample, i64 [B], those of the query among them, and how many
  // of them stand before these.
  Value lengths, before;
  // Whether all tokens are the query's: then it may be padded.
  Condition is_prompt = false;
  // Keys that there is room for.
  Dim keys;
};

// Refuses what ONNX Runtime computes on other devices only, or as an option.
Status CheckGroup(NodeContext& context) {
  AttributeReader& attributes = context.attributes();
  for (const std::string_view name : {"k_quant_type", "v_quant_type"}) {
    ENCORE_ASSIGN_OR_RETURN(const std::string type,
                            attributes.String(name, "NONE"));
    if (type == "NONE") continue;
    return UnimplementedError(
        StrCat("attribute ", name, " is ", Quote(type), ", expected NONE"));
  }
  for (const std::string_view name :
       {"kv_cache_bit_width", "sliding_window_cache"}) {
    ENCORE_ASSIGN_OR_RETURN(const int64_t value, attributes.Int(name, 0));
    if (value == 0) continue;
    return UnimplementedError(
        StrCat("attribute ", name, " is ", value, ", expected 0"));
  }
  attributes.Ignore("qk_norm_epsilon");  // of the inputs refused below
  for (const auto& [i, name] :
       {std::pair(12, "k_scale"), std::pair(13, "v_scale"),
        std::pair(14, "q_norm_weight"), std::pair(15, "k_norm_weight")}) {
    if (!context.HasInput(i)) continue;
    return UnimplementedError(StrCat("input ", name, " is not supported"));
  }
  if (context.HasInput(kPastKey) != context.HasInput(kPastValue) ||
      context.HasInput(kKey) != context.HasInput(kValue)) {
    return NodeContext::Error(
        "inputs past_key and past_value, and key and value, go together");
  }
  for (const int i : {kPastKey, kPastValue}) {
    if (!context.HasInput(i)) continue;
    const Value past = context.Input(i);
    if (past.rank() == 4 && past.dtype() == context.Input(kQuery).dtype()) {
      continue;
    }
    return UnimplementedError(StrCat("input ", i, ", a cache, is ", past.type(),
                                     ", expected rank 4 and the query's type"));
  }
  return OkStatus();
}

// Query, key and value with their heads as a dim.
Status ReadOperands(NodeContext& context, Group* group) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const int64_t heads,
                          ReadHeadCount(context, "num_heads"));
  ENCORE_ASSIGN_OR_RETURN(const int64_t kv_heads,
                          ReadHeadCount(context, "kv_num_heads"));
  Value query = context.Input(kQuery);
  if (heads % kv_heads != 0 || query.rank() != 3) {
    return NodeContext::Error(
        StrCat("attributes num_heads and kv_num_heads are ", heads, " and ",
               kv_heads, ", and input query is ", query.type()));
  }
  Value key = OptionalInput(context, kKey),
        value = OptionalInput(context, kValue);
  if (!key.valid()) {
    const Dim head = FloorDiv(query.shape()[2], heads + 2 * kv_heads);
    const Dim first = head * heads, second = first + head * kv_heads;
    key = g.SliceAxis(query, 2, first, second);
    value = g.SliceAxis(query, 2, second, query.shape()[2]);
    query = g.SliceAxis(query, 2, 0, first);
    ENCORE_RETURN_IF_ERROR(g.status());
  }
  ENCORE_ASSIGN_OR_RETURN(group->query,
                          SplitHeads(context, query, heads, "query"));
  ENCORE_ASSIGN_OR_RETURN(group->key,
                          SplitHeads(context, key, kv_heads, "key"));
  ENCORE_ASSIGN_OR_RETURN(group->value,
                          SplitHeads(context, value, kv_heads, "value"));
  ENCORE_RETURN_IF_ERROR(g.status());
  group->batch = context.shape(group->query)[0];
  group->queries = context.shape(group->query)[2];
  return OkStatus();
}

// How many tokens there are, and where. Without a cache they are the query's.
Status ReadLengths(NodeContext& context, Group* group) {
  GraphBuilder& g = context.builder();
  ENCORE_RETURN_IF_ERROR(context.CheckVector(kLengths, "seqlens_k"));
  ShapeBuilder shapes(context);
  const IndexExpr queries = shapes.Extent(group->queries);
  Value given = context.Input(kLengths);
  group->keys = group->queries;
  group->is_prompt = true;
  if (context.HasInput(kPastKey)) {
    ENCORE_ASSIGN_OR_RETURN(
        const IndexExpr total,
        ElementOf(context, kTotalLength, "total_sequence_length"));
    const Dim past = context.shape(context.Input(kPastKey))[2];
    shapes.Require(total >= queries);
    group->is_prompt = total == queries;
    group->keys = shapes.Define(Max(shapes.Extent(past), total));
    ENCORE_ASSIGN_OR_RETURN(
        given, shapes.Assert(given,
                             "input total_sequence_length is less than the "
                             "length of the query"));
  }
  group->lengths = g.Add(g.Cast(given, DType::kI64), 1);
  const Value none = g.Mul(group->lengths, 0);
  const Value before = g.Sub(group->lengths, DimValue(context, group->queries));
  group->before = group->is_prompt.IsTrue() ? none
                  : group->is_prompt.IsFalse()
                      ? before
                      : g.Select(group->is_prompt.ToValue(g), none, before);
  return OkStatus();
}

// Turns queries and keys by the angles of their positions.
Status Rotate(NodeContext& context, Group* group) {
  AttributeReader& attributes = context.attributes();
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const bool rotates,
                          attributes.Bool("do_rotary", false));
  ENCORE_ASSIGN_OR_RETURN(const int64_t interleaved,
                          attributes.Int("rotary_interleaved", 0));
  if (!rotates) return OkStatus();
  if (!context.HasInput(kCosine) || !context.HasInput(kSine)) {
    return NodeContext::Error(
        "attribute do_rotary is 1, and inputs cos_cache and sin_cache are left "
        "out");
  }
  const Value cosine = context.Input(kCosine), sine = context.Input(kSine);
  const Shape places({group->batch, group->queries});
  const Value counted = g.Iota(DType::kI64, places, 1);
  Value positions = g.Add(counted, g.Unsqueeze(group->before, {1}));
  if (context.HasInput(kPositions)) {
    const Value given = context.Input(kPositions);
    ENCORE_RETURN_IF_ERROR(g.status());
    if (given.rank() != 2) {
      return context.ShapeMismatch(
          StrCat("input position_ids is ", given.type(), ", expected rank 2"));
    }
    // Of a prompt the first one counts.
    const Value first = context.Reshape(g.Slice(given, {0, 0}, {1, 1}), {1, 1});
    const Value prompt = g.Add(counted, first);
    const Value later = g.BroadcastTo(given, places);
    positions = group->is_prompt.IsTrue() ? prompt
                : group->is_prompt.IsFalse()
                    ? later
                    : g.Select(group->is_prompt.ToValue(g), prompt, later);
  }
  const Dim half = cosine.rank() == 2 ? cosine.shape()[1] : Dim(0);
  if (!half.is_constant() || half.constant() < 1) {
    return context.ShapeMismatch(
        StrCat("input cos_cache is ", cosine.type(), ", expected rank 2"));
  }
  StandardCalls standard(context);
  const NodeAttributes passed = {
      IntAttr("interleaved", interleaved),
      IntAttr("rotary_embedding_dim", 2 * half.constant())};
  for (Value* x : {&group->query, &group->key}) {
    ENCORE_ASSIGN_OR_RETURN(
        *x, standard.Call("RotaryEmbedding", {*x, cosine, sine, positions},
                          passed));
  }
  return OkStatus();
}

// Places of keys, [1, 1, 1, keys], and tokens by sample, as [B, 1, 1, 1].
Value KeyPlaces(NodeContext& context, const Group& group) {
  return context.builder().Iota(DType::kI64, {1, 1, 1, group.keys}, 3);
}
Value BySample(GraphBuilder& g, Value x) { return g.Unsqueeze(x, {1, 2, 3}); }

// The cache, input `past`, with the new tokens of each sample behind its own;
// zeros behind these.
Value Present(NodeContext& context, const Group& group, int past, Value added) {
  if (!context.HasInput(past)) return added;
  GraphBuilder& g = context.builder();
  const Value cache = context.Input(past);
  const Dim room = cache.shape()[2];
  const Value both = g.Concat({cache, added}, 2);
  const Value place = g.Iota(DType::kI64, {1, group.keys}, 1);
  const Value behind = g.Sub(place, g.Unsqueeze(group.before, {1}));
  const Value is_old = g.Compare(behind, 0, Comparison::kLt);
  const Value at = g.Select(is_old, g.BroadcastTo(place, behind.shape()),
                            g.Add(behind, DimValue(context, room)));
  GatherAttrs gather;
  gather.offset_dims = {1, 3};
  gather.collapsed_slice_dims = {2};
  gather.operand_batching_dims = {0};
  gather.start_indices_batching_dims = {0};
  gather.start_index_map = {2};
  gather.index_vector_dim = 2;
  gather.slice_sizes = {1, cache.shape()[1], 1, cache.shape()[3]};
  const Value taken = g.Gather(both, at, std::move(gather));
  const Value is_there =
      g.Compare(behind, DimValue(context, group.queries), Comparison::kLt);
  return g.Select(g.BroadcastTo(g.Unsqueeze(is_there, {1, 3}), taken.shape()),
                  taken, 0.0);
}

// Which keys a query sees, [B, 1, queries or 1, keys].
StatusOr<Value> SeenKeys(NodeContext& context, const Group& group) {
  AttributeReader& attributes = context.attributes();
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const bool causal, attributes.Bool("causal", true));
  ENCORE_ASSIGN_OR_RETURN(const int64_t window,
                          attributes.Int("local_window_size", -1));
  if (window > 0 && !causal) {
    return NodeContext::Error(StrCat("attribute local_window_size is ", window,
                                     " and causal is 0, expected -1"));
  }
  const Value keys = KeyPlaces(context, group);
  const Value exists =
      g.Compare(keys, BySample(g, group.lengths), Comparison::kLt);
  if (!causal) return exists;
  const Value queries = g.Add(g.Iota(DType::kI64, {group.queries, 1}, 0),
                              BySample(g, group.before));
  const Value ahead = g.Sub(keys, queries);
  Value seen = g.And(exists, g.Compare(ahead, 0, Comparison::kLe));
  if (window > 0) {
    seen = g.And(seen, g.Compare(ahead, -window, Comparison::kGt));
  }
  return seen;
}

// The sink of each head, [1, heads, 1, 1], a score that takes its part of the
// weights and has no value; invalid where there is none.
StatusOr<Value> Sink(NodeContext& context, const Group& group) {
  ENCORE_RETURN_IF_ERROR(context.builder().status());
  ENCORE_ASSIGN_OR_RETURN(const int64_t smooth,
                          context.attributes().Int("smooth_softmax", -1));
  const DType dtype = group.query.dtype();
  const Dim heads = group.query.shape()[1];
  GraphBuilder& g = context.builder();
  if (context.HasInput(kSink)) {
    return context.Reshape(context.Input(kSink), {1, heads, 1, 1});
  }
  if (smooth <= 0) return Value();
  return g.Full({1, heads, 1, 1}, context.Scalar(dtype, 0));
}

// `mask` with the sink as its last key, and keys and values of zeros for it.
void AddSink(NodeContext& context, Value sink, Group* group, Value* mask) {
  GraphBuilder& g = context.builder();
  const Shape key = group->key.shape();
  const Shape wide(
      {group->batch, group->query.shape()[1], group->queries, group->keys});
  Dims column = wide.dims();
  column[3] = 1;
  *mask = g.Concat({g.BroadcastTo(*mask, wide),
                    g.BroadcastTo(sink, Shape(std::move(column)))},
                   3);
  for (Value* x : {&group->key, &group->value}) {
    Dims high(4, 0);
    high[2] = 1;
    *x = g.Pad(*x, 0.0, Dims(4, 0), std::move(high));
  }
}

// Output 3: scores before softmax, 0 where a key is not seen, or weights.
Status OutputScores(NodeContext& context, const Group& group, Value scores,
                    Value seen) {
  GraphBuilder& g = context.builder();
  const Value own = g.SliceAxis(scores, 3, 0, group.keys);
  return context.Output(3,
                        g.Select(g.BroadcastTo(seen, own.shape()), own, 0.0));
}

// The attributes of the standard's Attention.
StatusOr<NodeAttributes> Passed(NodeContext& context) {
  AttributeReader& attributes = context.attributes();
  NodeAttributes passed = StandardCalls(context).Own({"softcap"});
  ENCORE_ASSIGN_OR_RETURN(const float scale, attributes.Float("scale", 0));
  ENCORE_ASSIGN_OR_RETURN(const int64_t mode, attributes.Int("qk_output", 0));
  if (mode < 0 || mode > 2) {
    return NodeContext::Error(
        StrCat("attribute qk_output is ", mode, ", expected 0 to 2"));
  }
  if (mode == 0 && context.WantsOutput(3)) {
    return NodeContext::Error(
        "attribute qk_output is 0, and output_qk is named");
  }
  // 0 is for what is said nowhere.
  if (scale != 0) passed.push_back(FloatAttr("scale", scale));
  // The standard's stage behind the mask, or that behind softmax.
  passed.push_back(IntAttr("qk_matmul_output_mode", mode == 1 ? 2 : 3));
  return passed;
}

// What is added to scores, of which those that are not seen become -inf.
StatusOr<Value> Mask(NodeContext& context, const Group& group, Value seen) {
  GraphBuilder& g = context.builder();
  const DType dtype = group.query.dtype();
  Value added = context.Scalar(dtype, 0);
  if (context.HasInput(kBias)) {
    added = context.Input(kBias);
    if (added.rank() != 4) {
      return context.ShapeMismatch(StrCat("input attention_bias is ",
                                          added.type(), ", expected rank 4"));
    }
    std::vector<Value> both = BroadcastAll(context, {added, seen});
    added = both[0];
    seen = both[1];
  }
  return g.Select(seen, added, -INFINITY);
}

Status GroupQueryAttention(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 16));
  ENCORE_RETURN_IF_ERROR(CheckGroup(context));
  GraphBuilder& g = context.builder();
  Group group;
  ENCORE_RETURN_IF_ERROR(ReadOperands(context, &group));
  ENCORE_RETURN_IF_ERROR(ReadLengths(context, &group));
  ENCORE_RETURN_IF_ERROR(Rotate(context, &group));
  group.key = Present(context, group, kPastKey, group.key);
  group.value = Present(context, group, kPastValue, group.value);
  ENCORE_RETURN_IF_ERROR(g.status());
  ENCORE_RETURN_IF_ERROR(context.Output(1, group.key));
  ENCORE_RETURN_IF_ERROR(context.Output(2, group.value));
  ENCORE_ASSIGN_OR_RETURN(const Value seen, SeenKeys(context, group));
  ENCORE_ASSIGN_OR_RETURN(Value mask, Mask(context, group, seen));
  ENCORE_ASSIGN_OR_RETURN(const Value sink, Sink(context, group));
  if (sink.valid()) AddSink(context, sink, &group, &mask);
  ENCORE_ASSIGN_OR_RETURN(const NodeAttributes passed, Passed(context));
  ENCORE_ASSIGN_OR_RETURN(
      const std::vector<Value> results,
      StandardCalls(context).Call("Attention",
                                  {group.query, group.key, group.value, mask},
                                  passed, context.WantsOutput(3) ? 4 : 1));
  ENCORE_RETURN_IF_ERROR(context.Output(0, MergeHeads(context, results[0])));
  if (results.size() < 4) return OkStatus();
  return OutputScores(context, group, results[3], seen);
}

constexpr Converter kConverters[] = {
    {"com.microsoft.GroupQueryAttention", GroupQueryAttention, Op::kAttention},
};

}  // namespace

std::span<const Converter> GroupQueryConverters() { return kConverters; }

}  // namespace encore::onnx
