// One random node of each family.
#include <algorithm>
#include <numeric>
#include <variant>

#include "encore/ir/support/check.h"
#include "encore/ir/testing/random_generator.h"

namespace encore::internal {
namespace {

using Values = std::vector<Value>;

constexpr int64_t kMostStart = 1 << 20;

// Whether operands are exact: see random_graph.h.
bool NeedsExact(Op op) { return Info(op).has(kSensitive); }

}  // namespace

Values RandomGenerator::Source(Op op, DType dtype) {
  if (op == Op::kConstant) {
    const Shape shape = RandomShape(0, 3);
    std::vector<int64_t> dims;
    for (const Dim& dim : shape.dims()) {
      dims.push_back(dim.is_constant() ? dim.constant() : 2);
    }
    return {g_.Constant(RandomLiteral(dtype, std::move(dims), random_()))};
  }
  const Shape shape = RandomShape(1, 3);
  if (op == Op::kDimValues) return {g_.DimValues(shape.dims())};
  if (op == Op::kRandom) {
    const auto seed = static_cast<int64_t>(random_());
    return {g_.Node1(op, {}, RandomAttrs{dtype, shape.dims(), seed})};
  }
  if (op == Op::kCountUp) {
    const int64_t count = Below(6);
    return {
        g_.Node1(op, {g_.Scalar(DType::kI64, count)}, CountUpAttrs{{count}})};
  }
  return {g_.Iota(dtype, shape, Below(shape.rank()))};
}

Values RandomGenerator::Guarded(DType dtype) {
  const Value numbers = Any(DType::kI64, true);
  Ints axes(numbers.rank());
  std::iota(axes.begin(), axes.end(), 0);
  const Value most = g_.Reduce(numbers, Combiner::kMax, std::move(axes));
  return {g_.Node1(Op::kAssertion, {Any(dtype, false), g_.Max(most, 1)},
                   AssertionAttrs{"never said"})};
}

Values RandomGenerator::Elementwise(Op op, DType dtype) {
  const bool exact = NeedsExact(op);
  if (op == Op::kCast) {
    static const std::vector<DType>& targets = [] {
      static std::vector<DType> all(Info(Op::kCast).dtypes.begin(),
                                    Info(Op::kCast).dtypes.end());
      return all;
    }();
    const DType from = targets[Below(targets.size())];
    const bool saturate = IsFloat(dtype) && BitWidth(dtype) == 8 && Chance(50);
    // To integers a cast jumps.
    return {g_.Cast(Any(from, !IsFloat(dtype)), dtype, saturate)};
  }
  if (op == Op::kSelect) {
    const Value x = Any(dtype, false);
    const Value condition = Like(DType::kBool, x.shape());
    return {g_.Node1(op, {condition, x, Like(dtype, x.shape())})};
  }
  const Value x = Any(dtype, exact);
  if (Info(op).signature().operands.size() == 1) return {g_.Unary(op, x)};
  // Of two factors one is not computed.
  const Value y = Like(dtype, x.shape(), exact || op == Op::kMul);
  if (op == Op::kCompare) {
    return {g_.Node1(op, {x, y}, CompareAttrs{Comparison(Below(6))})};
  }
  return {g_.Node1(op, {x, y})};
}

Values RandomGenerator::SliceOf(DType dtype) {
  const Value x = Any(dtype, false);
  Dims starts, limits;
  for (const Dim& dim : x.shape().dims()) {
    if (!dim.is_constant()) {
      starts.push_back(0);
      limits.push_back(dim);
      continue;
    }
    const int64_t start = Below(dim.constant() + 1);
    starts.push_back(start);
    limits.push_back(start + Below(dim.constant() - start + 1));
  }
  return {
      g_.Slice(x, std::move(starts), std::move(limits), Each(x.rank(), 1, 3))};
}

Values RandomGenerator::Movement(Op op, DType dtype) {
  if (op == Op::kSlice) return SliceOf(dtype);
  const Value x = Any(dtype, false, op == Op::kConcat ? 1 : 0);
  switch (op) {
    case Op::kBroadcast: {
      // New dims anywhere, and extents of 1 repeated.
      std::vector<Dim> dims;
      Ints axes;
      for (int i = 0; i < x.rank(); ++i) {
        if (dims.size() < 6 && Chance(30)) dims.push_back(1 + Below(3));
        axes.push_back(static_cast<int64_t>(dims.size()));
        const Dim& dim = x.shape()[i];
        dims.push_back(dim == Dim(1) && Chance(50) ? RandomExtent(false) : dim);
      }
      if (Chance(30)) dims.push_back(2);
      return {g_.Broadcast(x, Shape(std::move(dims)), std::move(axes))};
    }
    case Op::kReshape: {
      std::vector<Dim> dims = {x.shape().ElementCount()};
      if (Chance(50)) dims = x.shape().dims();
      dims.insert(dims.begin() + Below(dims.size() + 1), 1);
      return {g_.Reshape(x, Shape(std::move(dims)))};
    }
    case Op::kTranspose:
      return {g_.Transpose(x, Permutation(x.rank()))};
    case Op::kPad: {
      Dims low, high;
      for (const Dim& dim : x.shape().dims()) {
        // Negative padding removes at most what is there.
        const int64_t least = dim.LowerBound(g_.graph().symbols());
        low.push_back(Below(3) - (least > 0 ? 1 : 0));
        high.push_back(Below(3));
      }
      return {g_.Pad(x, Like(dtype, Shape()), std::move(low), std::move(high),
                     Each(x.rank(), 0, 2))};
    }
    case Op::kConcat: {
      const int64_t axis = Axis(x);
      Values operands = {x};
      while (Chance(50)) {
        Shape shape = x.shape();
        shape[static_cast<int>(axis)] = RandomExtent(true);
        operands.push_back(Like(dtype, shape));
      }
      return {g_.Concat(operands, axis)};
    }
    default:
      ENCORE_CHECK(op == Op::kReverse) << op;
      return {g_.Reverse(x, Axes(x.rank()))};
  }
}

Value RandomGenerator::WithinAll(Value starts, const Shape& shape,
                                 const Dims& sizes, const Ints& axes) {
  int64_t last = kMostStart;
  for (const int64_t axis : axes) {
    const Dim room = shape[static_cast<int>(axis)] - sizes[axis];
    last = std::min(last, room.LowerBound(g_.graph().symbols()));
  }
  return g_.Max(g_.Min(starts, last), 0);
}

Values RandomGenerator::Indexing(Op op, DType dtype) {
  const DType index = Chance(50) ? DType::kI32 : DType::kI64;
  const Value x = NonEmpty(dtype, false, op == Op::kScatter ? 1 : 0);
  const int rank = x.rank();
  Dims sizes;
  for (const Dim& dim : x.shape().dims()) {
    sizes.push_back(dim.is_constant() ? Dim(Below(dim.constant()) + 1) : dim);
  }
  if (op == Op::kDynamicSlice) {
    return {g_.DynamicSlice(x, Like(index, {rank}), std::move(sizes))};
  }
  if (op == Op::kDynamicUpdateSlice) {
    return {g_.DynamicUpdateSlice(x, Like(dtype, Shape(sizes)),
                                  Like(index, {rank}))};
  }
  // The index vectors stand along the last dim of [batch…, vector].
  Shape batch = RandomShape(0, 2);
  Ints map = Permutation(rank);
  map.resize(Below(rank + 1));
  Ints collapsed;
  for (int i = 0; i < rank; ++i) {
    if (sizes[i] == Dim(1) && Chance(50)) collapsed.push_back(i);
  }
  std::vector<Dim> dims = batch.dims();
  dims.push_back(static_cast<int64_t>(map.size()));
  Value starts = Like(index, Shape(dims));
  const bool checked = Chance(30);
  if (checked) starts = WithinAll(starts, x.shape(), sizes, map);
  const int64_t vector_dim = batch.rank();
  const int windows = rank - static_cast<int>(collapsed.size());
  Ints window_dims = Permutation(windows + batch.rank());
  window_dims.resize(windows);
  std::sort(window_dims.begin(), window_dims.end());
  if (op == Op::kGather) {
    return {g_.Gather(x, starts,
                      {window_dims,
                       collapsed,
                       {},
                       {},
                       map,
                       vector_dim,
                       std::move(sizes),
                       checked ? OutOfRange::kError : OutOfRange::kClamp})};
  }
  std::vector<Dim> updates;
  int next = 0, next_batch = 0;
  for (int i = 0; i < windows + batch.rank(); ++i) {
    if (std::ranges::find(window_dims, i) == window_dims.end()) {
      updates.push_back(batch[next_batch++]);
      continue;
    }
    while (std::ranges::find(collapsed, next) != collapsed.end()) ++next;
    updates.push_back(sizes[next++]);
  }
  const bool numeric = IsInteger(dtype) || IsFloat(dtype);
  const Update update = numeric ? Update(Below(5)) : Update::kSet;
  const bool exact = update == Update::kMul;
  return {g_.Scatter(x, starts, Like(dtype, Shape(std::move(updates)), exact),
                     {update,
                      window_dims,
                      collapsed,
                      {},
                      {},
                      map,
                      vector_dim,
                      checked ? OutOfRange::kError : OutOfRange::kDrop})};
}

Values RandomGenerator::Reduction(Op op, DType dtype) {
  if (op == Op::kArgReduce) {
    const Value x = NonEmpty(dtype, /*exact=*/true, 1);
    ArgReduceAttrs attrs;
    attrs.combiner = Chance(50) ? Combiner::kMax : Combiner::kMin;
    attrs.axis = Axis(x);
    attrs.last = Chance(50);
    attrs.dtype = Chance(50) ? DType::kI32 : DType::kI64;
    return {g_.ArgReduce(x, attrs)};
  }
  if (op == Op::kArgSort) {
    const Value x = Any(dtype, /*exact=*/true, 1);
    return {g_.Node1(op, {x}, ArgSortAttrs{Axis(x), Chance(50)})};
  }
  if (op == Op::kCumulative) {
    const Value x = Any(dtype, false, 1);
    return {g_.Cumulative(
        x, {RandomCombiner(dtype), Axis(x), Chance(50), Chance(50)})};
  }
  if (op == Op::kMean) {
    const Value x = NonEmpty(dtype, false, 0);
    return {g_.Mean(x, Axes(x.rank()))};
  }
  const Value x = Any(dtype, false);
  return {g_.Reduce(x, RandomCombiner(dtype), Axes(x.rank()))};
}

Values RandomGenerator::Convolve(DType dtype) {
  const int spatial = static_cast<int>(Below(4));
  ConvolutionAttrs attrs;
  attrs.strides = Each(spatial, 1, 2);
  attrs.padding_low = Each(spatial, -1, 2);
  attrs.padding_high = Each(spatial, -1, 2);
  attrs.lhs_dilation = Each(spatial, 1, Chance(30) ? 2 : 1);
  attrs.rhs_dilation = Each(spatial, 1, 2);
  if (Chance(30)) attrs.feature_groups = 1 + Below(3);
  if (attrs.feature_groups == 1 && Chance(20)) attrs.batch_groups = 2;
  const int64_t channels = 1 + Below(3);
  std::vector<Dim> input = {(1 + Below(2)) * attrs.batch_groups,
                            channels * attrs.feature_groups};
  std::vector<Dim> kernel = {
      (1 + Below(3)) * attrs.feature_groups * attrs.batch_groups, channels};
  for (int i = 0; i < spatial; ++i) {
    input.push_back(i == 0 ? RandomExtent(false) : Dim(1 + Below(5)));
    kernel.push_back(1 + Below(3));
  }
  return {g_.Convolution(Like(dtype, Shape(std::move(input))),
                         Like(dtype, Shape(std::move(kernel)), true),
                         std::move(attrs))};
}

Values RandomGenerator::Attend(DType dtype) {
  const int64_t kv_heads = 1 + Below(2), heads = kv_heads * (1 + Below(2));
  const Dim batch = 1 + Below(2), width = 1 + Below(5), out = 1 + Below(4);
  const Dim queries = RandomExtent(false), keys = queries + Below(3);
  AttentionAttrs attrs;
  attrs.scale = 0.5;
  attrs.causal = Chance(50);
  const Value q = Like(dtype, {batch, heads, queries, width});
  const Value k = Like(dtype, {batch, kv_heads, keys, width}, true);
  const Value v = Like(dtype, {batch, kv_heads, keys, out});
  if (Chance(50)) return {g_.Attention(q, k, v, {}, attrs)};
  const Value mask =
      Like(dtype, {Chance(50) ? batch : Dim(1),
                   Chance(50) ? Dim(heads) : Dim(1), queries, keys});
  return {g_.Attention(q, k, v, mask, attrs)};
}

Values RandomGenerator::Contraction(Op op, DType dtype) {
  if (op == Op::kConvolution) return Convolve(dtype);
  if (op == Op::kAttention) return Attend(dtype);
  if (op == Op::kLinear) {
    const Value x = Any(dtype, false, 1);
    const Dim outputs = 1 + Below(5);
    const Value w = Like(dtype, {outputs, x.shape()[x.rank() - 1]}, true);
    if (Chance(50)) return {g_.Linear(x, w)};
    return {g_.Linear(x, w, Like(dtype, {outputs}))};
  }
  const Value lhs = Any(dtype, false);
  AxisPairs contract, batch;
  std::vector<Dim> rhs;
  for (const int64_t axis : Permutation(lhs.rank())) {
    if (Chance(30)) rhs.push_back(1 + Below(3));
    if (Chance(30)) continue;
    AxisPairs& pairs = Chance(50) ? contract : batch;
    pairs.lhs.push_back(axis);
    pairs.rhs.push_back(static_cast<int64_t>(rhs.size()));
    rhs.push_back(lhs.shape()[static_cast<int>(axis)]);
  }
  return {g_.DotGeneral(lhs, Like(dtype, Shape(std::move(rhs)), true),
                        std::move(contract), std::move(batch))};
}

Values RandomGenerator::Pool(Op op, DType dtype) {
  const bool generic = op == Op::kReduceWindow;
  const Value x = NonEmpty(dtype, false, generic ? 0 : 2);
  const int count = x.rank() - (generic ? 0 : 2);
  Ints window = Each(count, 1, 3), strides = Each(count, 1, 3);
  Ints dilations = Each(count, 1, 2), low(count), high(count);
  // Every window reaches an element, so that averages are numbers.
  for (int i = 0; i < count; ++i) {
    low[i] = Below(window[i]);
    high[i] = Below(window[i]);
    if (op == Op::kAvgPool) dilations[i] = 1;
  }
  if (generic) {
    return {g_.ReduceWindow(
        x, {RandomCombiner(dtype), window, strides, low, high, dilations})};
  }
  const PoolAttrs attrs{window, strides,   low,
                        high,   dilations, op == Op::kAvgPool && Chance(50)};
  return {op == Op::kMaxPool ? g_.MaxPool(x, attrs) : g_.AvgPool(x, attrs)};
}

Values RandomGenerator::Activation(Op op, DType dtype) {
  const Value x = Any(dtype, NeedsExact(op));
  Attributes attributes = DefaultAttributes(Info(op).attributes);
  if (auto* alpha = std::get_if<AlphaAttrs>(&attributes)) {
    alpha->alpha = 0.25 * static_cast<double>(1 + Below(6));
  } else if (auto* both = std::get_if<AlphaBetaAttrs>(&attributes)) {
    *both = {0.25, 0.5};
  } else if (auto* gelu = std::get_if<GeluAttrs>(&attributes)) {
    gelu->tanh = Chance(50);
  }
  if (op == Op::kPrelu) {
    return {g_.Node1(op, {x, Like(dtype, x.shape(), true)})};
  }
  if (op == Op::kClamp) {
    return {g_.Node1(op, {x, Like(dtype, Shape()), Like(dtype, Shape())})};
  }
  return {g_.Node1(op, {x}, std::move(attributes))};
}

Values RandomGenerator::Normalization(Op op, DType dtype) {
  if (std::holds_alternative<AxisAttrs>(
          DefaultAttributes(Info(op).attributes))) {
    const Value x = Any(dtype, NeedsExact(op), 1);
    return {g_.Node1(op, {x}, AxisAttrs{Axis(x)})};
  }
  // Exact operands: a variance near 0 would amplify differences.
  if (op == Op::kLayerNorm || op == Op::kRmsNorm) {
    const Value x = NonEmpty(dtype, true, 1);
    const int64_t axis = Axis(x);
    const Shape shape(std::vector<Dim>(x.shape().dims().begin() + axis,
                                       x.shape().dims().end()));
    const Value scale = Like(dtype, shape, true);
    if (op == Op::kRmsNorm) return {g_.RmsNorm(x, scale, axis)};
    if (Chance(30)) return {g_.LayerNorm(x, scale, {}, axis)};
    return {g_.LayerNorm(x, scale, Like(dtype, shape), axis)};
  }
  Shape shape = RandomShape(2, 4, false);
  const int64_t groups = 1 + Below(2);
  if (op == Op::kGroupNorm) shape[1] = groups * (1 + Below(2));
  const Value x = Fresh(dtype, shape);
  const Shape channels({shape[1]});
  const Value scale = Fresh(dtype, channels), bias = Fresh(dtype, channels);
  if (op == Op::kInstanceNorm) return {g_.InstanceNorm(x, scale, bias)};
  if (op == Op::kGroupNorm) return {g_.GroupNorm(x, scale, bias, groups)};
  return {g_.BatchNorm(x, scale, bias, Fresh(dtype, channels),
                       Fresh(dtype, channels))};
}

Values RandomGenerator::Bodies(Op op, DType dtype) {
  Values operands = {Any(dtype, false)};
  while (operands.size() < 3 && Chance(50)) {
    operands.push_back(Any(RandomDType(Info(op).dtypes), false));
  }
  if (Chance(25)) operands.push_back(SequenceOf(dtype, 2, std::nullopt));
  const uint64_t seed = random_();
  if (op == Op::kIf) {
    const auto then = BodyOf(0, operands, seed);
    const auto otherwise = BodyOf(0, operands, seed + 1);
    return g_.If(Like(DType::kBool, Shape()), operands, then, otherwise);
  }
  const int64_t trips = Below(4);
  if (op == Op::kLoop) {
    const auto inner = BodyOf(2, operands, seed);
    const auto body = [&inner](GraphBuilder& g, std::span<const Value> in) {
      Values outputs = inner(g, in);
      outputs.insert(outputs.begin(), in[1]);
      outputs.push_back(g.Cast(in[0], DType::kI32));
      return outputs;
    };
    return g_.Loop(
        g_.Scalar(DType::kI64, trips), g_.Constant(Literal::Scalar(true)),
        operands, body,
        {.carried = static_cast<int64_t>(operands.size()), .trips = {trips}});
  }
  if (op == Op::kWhile) {
    operands.insert(operands.begin(), g_.Scalar(DType::kI64, int64_t{0}));
    const auto condition = [trips](GraphBuilder& g, std::span<const Value> in) {
      return Values{g.Compare(in[0], trips, Comparison::kLt)};
    };
    const auto inner = BodyOf(1, std::span(operands).subspan(1), seed);
    const auto step = [&inner](GraphBuilder& g, std::span<const Value> in) {
      Values outputs = inner(g, in);
      outputs.insert(outputs.begin(), g.Add(in[0], 1));
      return outputs;
    };
    return g_.While(operands, condition, step);
  }
  // Scan: the first operand carried, a new one scanned, the others captured.
  const Value scanned = Any(dtype, false, 1);
  operands.insert(operands.begin() + 1, scanned);
  ScanAttrs attrs;
  attrs.carried = 1;
  attrs.captures = static_cast<int64_t>(operands.size()) - 2;
  attrs.scan_axes = {Axis(scanned), 0};
  attrs.directions = Each(2, 0, 1);
  const auto body = BodyOf(0, std::span(operands).first(2), seed);
  return g_.Scan(operands, body, std::move(attrs));
}

}  // namespace encore::internal
