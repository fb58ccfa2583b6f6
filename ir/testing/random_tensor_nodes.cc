#include "encore/ir/testing/random_tensor_nodes.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <variant>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::internal {
namespace {

using Values = std::vector<Value>;

constexpr int64_t kMostStart = 1 << 20;

// Whether operands are exact: see random_graph.h.
bool NeedsExact(Op op) { return Info(op).has(kSensitive); }

// The indices along a dim whose extent is data-dependent: from 0 to 5.
Value DefinedSize(RandomOperands& r) {
  GraphBuilder& g = r.builder();
  const Value numbers = r.Any(DType::kI64, true);
  Ints axes(numbers.rank());
  std::iota(axes.begin(), axes.end(), 0);
  const Value least = g.Reduce(numbers, Combiner::kMin, std::move(axes));
  const Value count = g.Min(g.Max(least, 0), 5);
  const Dim size = g.Symbol(StrCat("size_", g.graph().symbols().size()), 0, 5,
                            /*at_run_time=*/true);
  g.DefineSymbols(count, {size});
  return g.Iota(DType::kI64, {size});
}

Values Source(RandomOperands& r, Op op, DType dtype) {
  if (op == Op::kConstant) {
    const Shape shape = r.RandomShape(0, 3);
    std::vector<int64_t> dims;
    for (const Dim& dim : shape.dims()) {
      dims.push_back(dim.is_constant() ? dim.constant() : 2);
    }
    return {
        r.builder().Constant(RandomLiteral(dtype, std::move(dims), r.Bits()))};
  }
  const Shape shape = r.RandomShape(1, 3);
  if (op == Op::kDimValues) return {r.builder().DimValues(shape.dims())};
  if (op == Op::kRandom) {
    const auto seed = static_cast<int64_t>(r.Bits());
    return {r.builder().Node1(op, {}, RandomAttrs{dtype, shape.dims(), seed})};
  }
  if (op == Op::kDefineSymbols) return {DefinedSize(r)};
  return {r.builder().Iota(dtype, shape, r.Below(shape.rank()))};
}

Values Guarded(RandomOperands& r, DType dtype) {
  const Value numbers = r.Any(DType::kI64, true);
  Ints axes(numbers.rank());
  std::iota(axes.begin(), axes.end(), 0);
  const Value most =
      r.builder().Reduce(numbers, Combiner::kMax, std::move(axes));
  return {r.builder().Node1(Op::kAssertion,
                            {r.Any(dtype, false), r.builder().Max(most, 1)},
                            AssertionAttrs{"never said"})};
}

// Bits that were computed are not the same everywhere; those of integers not
// below 0 and not large are no NaNs.
Values Bits(RandomOperands& r, DType dtype) {
  if (dtype == DType::kBool) dtype = DType::kU8;  // a bool has none
  std::vector<DType> sources;
  for (const DType from : Info(Op::kBitcast).dtypes) {
    if (BitWidth(from) != BitWidth(dtype) || from == DType::kBool) continue;
    if (IsInteger(dtype) || IsUnsigned(from)) sources.push_back(from);
  }
  const DType from = sources[r.Below(sources.size())];
  return {r.builder().Bitcast(r.Any(from, true), dtype)};
}

Values Elementwise(RandomOperands& r, Op op, DType dtype) {
  const bool exact = NeedsExact(op);
  if (op == Op::kCast) {
    static const std::vector<DType>& targets = [] {
      static std::vector<DType> all(Info(Op::kCast).dtypes.begin(),
                                    Info(Op::kCast).dtypes.end());
      return all;
    }();
    const DType from = targets[r.Below(targets.size())];
    const bool saturate =
        IsFloat(dtype) && BitWidth(dtype) <= 8 && r.Chance(50);
    // To integers a cast jumps.
    return {r.builder().Cast(r.Any(from, !IsFloat(dtype)), dtype, saturate)};
  }
  if (op == Op::kSelect) {
    const Value x = r.Any(dtype, false);
    const Value condition = r.Like(DType::kBool, x.shape());
    return {r.builder().Node1(op, {condition, x, r.Like(dtype, x.shape())})};
  }
  const Value x = r.Any(dtype, exact);
  if (Info(op).signature().operands.size() == 1)
    return {r.builder().Unary(op, x)};
  // Of two factors one is not computed.
  const Value y = r.Like(dtype, x.shape(), exact || op == Op::kMul);
  if (op == Op::kCompare) {
    return {
        r.builder().Node1(op, {x, y}, CompareAttrs{Comparison(r.Below(6))})};
  }
  return {r.builder().Node1(op, {x, y})};
}

Values SliceOf(RandomOperands& r, DType dtype) {
  const Value x = r.Any(dtype, false);
  Dims starts, limits;
  for (const Dim& dim : x.shape().dims()) {
    if (!dim.is_constant()) {
      starts.push_back(0);
      limits.push_back(dim);
      continue;
    }
    const int64_t start = r.Below(dim.constant() + 1);
    starts.push_back(start);
    limits.push_back(start + r.Below(dim.constant() - start + 1));
  }
  return {r.builder().Slice(x, std::move(starts), std::move(limits),
                            r.Each(x.rank(), 1, 3))};
}

Values Movement(RandomOperands& r, Op op, DType dtype) {
  if (op == Op::kSlice) return SliceOf(r, dtype);
  const Value x = r.Any(dtype, false, op == Op::kConcat ? 1 : 0);
  switch (op) {
    case Op::kBroadcast: {
      // New dims anywhere, and extents of 1 repeated.
      std::vector<Dim> dims;
      Ints axes;
      for (int i = 0; i < x.rank(); ++i) {
        if (dims.size() < 6 && r.Chance(30)) dims.push_back(1 + r.Below(3));
        axes.push_back(static_cast<int64_t>(dims.size()));
        const Dim& dim = x.shape()[i];
        dims.push_back(dim == Dim(1) && r.Chance(50) ? r.RandomExtent(false)
                                                     : dim);
      }
      if (r.Chance(30)) dims.push_back(2);
      return {
          r.builder().Broadcast(x, Shape(std::move(dims)), std::move(axes))};
    }
    case Op::kReshape: {
      std::vector<Dim> dims = {x.shape().ElementCount()};
      if (r.Chance(50)) dims = x.shape().dims();
      dims.insert(dims.begin() + r.Below(dims.size() + 1), 1);
      return {r.builder().Reshape(x, Shape(std::move(dims)))};
    }
    case Op::kTranspose:
      return {r.builder().Transpose(x, r.Permutation(x.rank()))};
    case Op::kPad: {
      Dims low, high;
      for (const Dim& dim : x.shape().dims()) {
        // Negative padding removes at most what is there.
        const int64_t least = dim.LowerBound(r.builder().graph().symbols());
        low.push_back(r.Below(3) - (least > 0 ? 1 : 0));
        high.push_back(r.Below(3));
      }
      return {r.builder().Pad(x, r.Like(dtype, Shape()), std::move(low),
                              std::move(high), r.Each(x.rank(), 0, 2))};
    }
    case Op::kConcat: {
      const int64_t axis = r.Axis(x);
      Values operands = {x};
      while (r.Chance(50)) {
        Shape shape = x.shape();
        shape[static_cast<int>(axis)] = r.RandomExtent(true);
        operands.push_back(r.Like(dtype, shape));
      }
      return {r.builder().Concat(operands, axis)};
    }
    default:
      ENCORE_CHECK(op == Op::kReverse) << op;
      return {r.builder().Reverse(x, r.Axes(x.rank()))};
  }
}

// `starts` moved to where a window of `sizes` is within `shape` along each of
// `axes`, whichever it is for.
Value WithinAll(GraphBuilder& g, Value starts, const Shape& shape,
                const Dims& sizes, const Ints& axes) {
  int64_t last = kMostStart;
  for (const int64_t axis : axes) {
    const Dim room = shape[static_cast<int>(axis)] - sizes[axis];
    last = std::min(last, room.LowerBound(g.graph().symbols()));
  }
  return g.Max(g.Min(starts, last), 0);
}

// The dims of updates: those of `batch` and, at `window_dims`, the sizes of a
// window without the collapsed dims.
Shape UpdateShape(const Shape& batch, const Ints& window_dims,
                  const Ints& collapsed, const Dims& sizes) {
  Dims updates;
  int next = 0, next_batch = 0;
  const int rank = batch.rank() + static_cast<int>(window_dims.size());
  for (int i = 0; i < rank; ++i) {
    if (std::ranges::find(window_dims, i) == window_dims.end()) {
      updates.push_back(batch[next_batch++]);
      continue;
    }
    while (std::ranges::find(collapsed, next) != collapsed.end()) ++next;
    updates.push_back(sizes[next++]);
  }
  return Shape(std::move(updates));
}

Values Indexing(RandomOperands& r, Op op, DType dtype) {
  const DType index = r.Chance(50) ? DType::kI32 : DType::kI64;
  const Value x = r.NonEmpty(dtype, false, op == Op::kScatter ? 1 : 0);
  const int rank = x.rank();
  Dims sizes;
  for (const Dim& dim : x.shape().dims()) {
    sizes.push_back(dim.is_constant() ? Dim(r.Below(dim.constant()) + 1) : dim);
  }
  GraphBuilder& g = r.builder();
  if (op == Op::kDynamicSlice) {
    return {g.DynamicSlice(x, r.Like(index, {rank}), std::move(sizes))};
  }
  if (op == Op::kDynamicUpdateSlice) {
    const Value update = r.Like(dtype, Shape(sizes));
    return {g.DynamicUpdateSlice(x, update, r.Like(index, {rank}))};
  }
  // The index vectors stand along the last dim of [batch…, vector].
  Shape batch = r.RandomShape(0, 2);
  Ints map = r.Permutation(rank);
  map.resize(r.Below(rank + 1));
  Ints collapsed;
  for (int i = 0; i < rank; ++i) {
    if (sizes[i] == Dim(1) && r.Chance(50)) collapsed.push_back(i);
  }
  std::vector<Dim> dims = batch.dims();
  dims.push_back(static_cast<int64_t>(map.size()));
  Value starts = r.Like(index, Shape(dims));
  const bool checked = r.Chance(30);
  if (checked) starts = WithinAll(g, starts, x.shape(), sizes, map);
  const int64_t vector_dim = batch.rank();
  const int windows = rank - static_cast<int>(collapsed.size());
  Ints window_dims = r.Permutation(windows + batch.rank());
  window_dims.resize(windows);
  std::sort(window_dims.begin(), window_dims.end());
  if (op == Op::kGather) {
    const OutOfRange rule = checked ? OutOfRange::kError : OutOfRange::kClamp;
    return {g.Gather(x, starts,
                     {window_dims,
                      collapsed,
                      {},
                      {},
                      map,
                      vector_dim,
                      std::move(sizes),
                      rule})};
  }
  Shape updates = UpdateShape(batch, window_dims, collapsed, sizes);
  const bool numeric = IsInteger(dtype) || IsFloat(dtype);
  const Update update = numeric ? Update(r.Below(5)) : Update::kSet;
  return {g.Scatter(x, starts,
                    r.Like(dtype, std::move(updates), update == Update::kMul),
                    {update,
                     window_dims,
                     collapsed,
                     {},
                     {},
                     map,
                     vector_dim,
                     checked ? OutOfRange::kError : OutOfRange::kDrop})};
}

Values Reduction(RandomOperands& r, Op op, DType dtype) {
  if (op == Op::kArgReduce) {
    const Value x = r.NonEmpty(dtype, /*exact=*/true, 1);
    ArgReduceAttrs attrs;
    attrs.combiner = r.Chance(50) ? Combiner::kMax : Combiner::kMin;
    attrs.axis = r.Axis(x);
    attrs.last = r.Chance(50);
    attrs.dtype = r.Chance(50) ? DType::kI32 : DType::kI64;
    return {r.builder().ArgReduce(x, attrs)};
  }
  if (op == Op::kArgSort) {
    const Value x = r.Any(dtype, /*exact=*/true, 1);
    return {r.builder().Node1(op, {x}, ArgSortAttrs{r.Axis(x), r.Chance(50)})};
  }
  if (op == Op::kCumulative) {
    const Value x = r.Any(dtype, false, 1);
    return {r.builder().Cumulative(
        x, {r.RandomCombiner(dtype), r.Axis(x), r.Chance(50), r.Chance(50)})};
  }
  if (op == Op::kMean) {
    const Value x = r.NonEmpty(dtype, false, 0);
    return {r.builder().Mean(x, r.Axes(x.rank()))};
  }
  const Value x = r.Any(dtype, false);
  return {r.builder().Reduce(x, r.RandomCombiner(dtype), r.Axes(x.rank()))};
}

Values Convolve(RandomOperands& r, DType dtype) {
  const int spatial = static_cast<int>(r.Below(4));
  ConvolutionAttrs attrs;
  attrs.strides = r.Each(spatial, 1, 2);
  attrs.padding_low = r.Each(spatial, -1, 2);
  attrs.padding_high = r.Each(spatial, -1, 2);
  attrs.lhs_dilation = r.Each(spatial, 1, r.Chance(30) ? 2 : 1);
  attrs.rhs_dilation = r.Each(spatial, 1, 2);
  if (r.Chance(30)) attrs.feature_groups = 1 + r.Below(3);
  if (attrs.feature_groups == 1 && r.Chance(20)) attrs.batch_groups = 2;
  const int64_t channels = 1 + r.Below(3);
  std::vector<Dim> input = {(1 + r.Below(2)) * attrs.batch_groups,
                            channels * attrs.feature_groups};
  std::vector<Dim> kernel = {
      (1 + r.Below(3)) * attrs.feature_groups * attrs.batch_groups, channels};
  for (int i = 0; i < spatial; ++i) {
    input.push_back(i == 0 ? r.RandomExtent(false) : Dim(1 + r.Below(5)));
    kernel.push_back(1 + r.Below(3));
  }
  return {r.builder().Convolution(r.Like(dtype, Shape(std::move(input))),
                                  r.Like(dtype, Shape(std::move(kernel)), true),
                                  std::move(attrs))};
}

Values Attend(RandomOperands& r, DType dtype) {
  const int64_t kv_heads = 1 + r.Below(2), heads = kv_heads * (1 + r.Below(2));
  const Dim batch = 1 + r.Below(2), width = 1 + r.Below(5),
            out = 1 + r.Below(4);
  const Dim queries = r.RandomExtent(false), keys = queries + r.Below(3);
  AttentionAttrs attrs;
  attrs.scale = 0.5;
  attrs.causal = r.Chance(50);
  if (r.Chance(30)) attrs.softcap = 2;
  const Value q = r.Like(dtype, {batch, heads, queries, width});
  const Value k = r.Like(dtype, {batch, kv_heads, keys, width}, true);
  const Value v = r.Like(dtype, {batch, kv_heads, keys, out});
  if (r.Chance(50)) return {r.builder().Attention(q, k, v, {}, attrs)};
  const Value mask =
      r.Like(dtype, {r.Chance(50) ? batch : Dim(1),
                     r.Chance(50) ? Dim(heads) : Dim(1), queries, keys});
  return {r.builder().Attention(q, k, v, mask, attrs)};
}

Values Contraction(RandomOperands& r, Op op, DType dtype) {
  if (op == Op::kConvolution) return Convolve(r, dtype);
  if (op == Op::kAttention) return Attend(r, dtype);
  if (op == Op::kLinear) {
    const Value x = r.Any(dtype, false, 1);
    const Dim outputs = 1 + r.Below(5);
    const Value w = r.Like(dtype, {outputs, x.shape()[x.rank() - 1]}, true);
    if (r.Chance(50)) return {r.builder().Linear(x, w)};
    return {r.builder().Linear(x, w, r.Like(dtype, {outputs}))};
  }
  const Value lhs = r.Any(dtype, false);
  AxisPairs contract, batch;
  std::vector<Dim> rhs;
  for (const int64_t axis : r.Permutation(lhs.rank())) {
    if (r.Chance(30)) rhs.push_back(1 + r.Below(3));
    if (r.Chance(30)) continue;
    AxisPairs& pairs = r.Chance(50) ? contract : batch;
    pairs.lhs.push_back(axis);
    pairs.rhs.push_back(static_cast<int64_t>(rhs.size()));
    rhs.push_back(lhs.shape()[static_cast<int>(axis)]);
  }
  return {r.builder().DotGeneral(lhs,
                                 r.Like(dtype, Shape(std::move(rhs)), true),
                                 std::move(contract), std::move(batch))};
}

Values Pool(RandomOperands& r, Op op, DType dtype) {
  const bool generic = op == Op::kReduceWindow;
  const Value x = r.NonEmpty(dtype, false, generic ? 0 : 2);
  const int count = x.rank() - (generic ? 0 : 2);
  Ints window = r.Each(count, 1, 3), strides = r.Each(count, 1, 3);
  Ints dilations = r.Each(count, 1, 2), low(count), high(count);
  // Every window reaches an element, so that averages are numbers.
  for (int i = 0; i < count; ++i) {
    low[i] = r.Below(window[i]);
    high[i] = r.Below(window[i]);
    if (op == Op::kAvgPool) dilations[i] = 1;
  }
  if (generic) {
    return {r.builder().ReduceWindow(
        x, {r.RandomCombiner(dtype), window, strides, low, high, dilations})};
  }
  const PoolAttrs attrs{window, strides,   low,
                        high,   dilations, op == Op::kAvgPool && r.Chance(50)};
  return {op == Op::kMaxPool ? r.builder().MaxPool(x, attrs)
                             : r.builder().AvgPool(x, attrs)};
}

Values Activation(RandomOperands& r, Op op, DType dtype) {
  const Value x = r.Any(dtype, NeedsExact(op));
  Attributes attributes = DefaultAttributes(Info(op).attributes);
  if (auto* alpha = attributes.GetIf<AlphaAttrs>()) {
    alpha->alpha = 0.25 * static_cast<double>(1 + r.Below(6));
  } else if (auto* both = attributes.GetIf<AlphaBetaAttrs>()) {
    *both = {0.25, 0.5};
  } else if (auto* gelu = attributes.GetIf<GeluAttrs>()) {
    gelu->tanh = r.Chance(50);
  }
  if (op == Op::kPrelu) {
    return {r.builder().Node1(op, {x, r.Like(dtype, x.shape(), true)})};
  }
  if (op == Op::kClamp) {
    return {r.builder().Node1(
        op, {x, r.Like(dtype, Shape()), r.Like(dtype, Shape())})};
  }
  return {r.builder().Node1(op, {x}, std::move(attributes))};
}

Values Normalization(RandomOperands& r, Op op, DType dtype) {
  if (DefaultAttributes(Info(op).attributes).Is<AxisAttrs>()) {
    const Value x = r.Any(dtype, NeedsExact(op), 1);
    return {r.builder().Node1(op, {x}, AxisAttrs{r.Axis(x)})};
  }
  // Exact operands: a variance near 0 would amplify differences.
  if (op == Op::kLayerNorm || op == Op::kRmsNorm) {
    const Value x = r.NonEmpty(dtype, true, 1);
    const int64_t axis = r.Axis(x);
    const Shape shape(std::vector<Dim>(x.shape().dims().begin() + axis,
                                       x.shape().dims().end()));
    const Value scale = r.Like(dtype, shape, true);
    if (op == Op::kRmsNorm) return {r.builder().RmsNorm(x, scale, axis)};
    if (r.Chance(30)) return {r.builder().LayerNorm(x, scale, {}, axis)};
    return {r.builder().LayerNorm(x, scale, r.Like(dtype, shape), axis)};
  }
  Shape shape = r.RandomShape(2, 4, false);
  const int64_t groups = 1 + r.Below(2);
  if (op == Op::kGroupNorm) shape[1] = groups * (1 + r.Below(2));
  const Value x = r.Fresh(dtype, shape);
  const Shape channels({shape[1]});
  const Value scale = r.Fresh(dtype, channels), bias = r.Fresh(dtype, channels);
  if (op == Op::kInstanceNorm)
    return {r.builder().InstanceNorm(x, scale, bias)};
  if (op == Op::kGroupNorm)
    return {r.builder().GroupNorm(x, scale, bias, groups)};
  return {r.builder().BatchNorm(x, scale, bias, r.Fresh(dtype, channels),
                                r.Fresh(dtype, channels))};
}

}  // namespace

Values RandomTensorNode(RandomOperands& r, Op op, DType dtype) {
  const OpInfo& info = Info(op);
  switch (op) {
    case Op::kConstant:
    case Op::kIota:
    case Op::kDimValues:
    case Op::kDefineSymbols:
    case Op::kRandom:
      return Source(r, op, dtype);
    case Op::kAssertion:
      return Guarded(r, dtype);
    case Op::kBitcast:
      return Bits(r, dtype);
    case Op::kDynamicSlice:
    case Op::kDynamicUpdateSlice:
    case Op::kGather:
    case Op::kScatter:
      return Indexing(r, op, dtype);
    case Op::kMaxPool:
    case Op::kAvgPool:
    case Op::kReduceWindow:
      return Pool(r, op, dtype);
    case Op::kArgSort:
    case Op::kCumulative:
      return Reduction(r, op, dtype);
    default:
      break;
  }
  if (info.has(kMovement)) return Movement(r, op, dtype);
  if (info.has(kReduction)) return Reduction(r, op, dtype);
  if (info.has(kContraction)) return Contraction(r, op, dtype);
  if (info.has(kNormalization)) return Normalization(r, op, dtype);
  if (info.level == OpLevel::kComposite) return Activation(r, op, dtype);
  return Elementwise(r, op, dtype);
}

}  // namespace encore::internal
