#include "encore/opt/tensor/check/attribute_draws.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace encore::opt {

Shape AttributeDraws::RandomShape(int64_t rank) {
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) {
    shape.mutable_dims().push_back(RandomExtent());
  }
  return shape;
}

AttributeDraws::AttributeDraws(Choices* choices, std::vector<Dim> symbols)
    : choices_(*choices), symbols_(std::move(symbols)) {
  if (Chance(15)) every_extent_ = Dim(2 + Below(2));
}

Dim AttributeDraws::RandomExtent() {
  if (every_extent_) return *every_extent_;
  if (!symbols_.empty() && Chance(40)) return symbols_[Below(2)];
  constexpr int64_t kExtents[] = {1, 1, 2, 2, 3, 3, 5, 7};
  if (Chance(6)) return 0;
  return kExtents[Below(std::size(kExtents))];
}

Ints AttributeDraws::RandomPermutation(int rank) {
  Ints axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  for (int i = rank - 1; i > 0; --i) std::swap(axes[i], axes[i - Below(i + 1)]);
  return axes;
}

AttributeDraw AttributeDraws::Other(Op op, AttributeDraw draw) {
  Shape& operand = draw.operands[0];
  switch (op) {
    case Op::kReshape:
      return DrawReshape(draw.result);
    case Op::kConvolution:
      return OtherConvolution(std::move(draw));
    case Op::kBroadcast:
      if (operand.rank() > 0) {
        operand[static_cast<int>(Below(operand.rank()))] = 1;
      }
      return draw;
    case Op::kSlice:
      for (Dim& dim : operand.mutable_dims()) dim = dim + Below(3);
      return draw;
    case Op::kReduce:
      for (const int64_t axis : draw.attributes.Get<ReduceAttrs>().axes) {
        Dim& extent = operand[static_cast<int>(axis)];
        if (Chance(50)) extent = extent + 1;
      }
      return draw;
    case Op::kConcat: {
      const auto axis = static_cast<int>(draw.attributes.Get<AxisAttrs>().axis);
      if (draw.operands.size() < 2 || operand[axis] == Dim(0)) return draw;
      operand[axis] = operand[axis] - 1;
      draw.operands[1][axis] = draw.operands[1][axis] + 1;
      return draw;
    }
    case Op::kGather:
      for (const int64_t axis :
           draw.attributes.Get<GatherAttrs>().collapsed_slice_dims) {
        operand[static_cast<int>(axis)] = Dim(1 + Below(5));
      }
      return draw;
    case Op::kDotGeneral: {
      const AxisPairs& pairs = draw.attributes.Get<DotGeneralAttrs>().contract;
      for (size_t i = 0; i < pairs.lhs.size(); ++i) {
        if (Chance(50)) continue;
        Dim& extent = operand[static_cast<int>(pairs.lhs[i])];
        extent = Chance(67) ? RandomExtent() : extent + 1;
        draw.operands[1][static_cast<int>(pairs.rhs[i])] = extent;
      }
      return draw;
    }
    default:
      return draw;
  }
}

std::optional<AttributeDraw> AttributeDraws::Again(AttributeDraw draw,
                                                   const Shape& shape) {
  if (draw.result == shape) return draw;
  if (draw.sources.empty() || draw.result.rank() != shape.rank()) {
    return std::nullopt;
  }
  for (size_t k = 0; k < draw.operands.size(); ++k) {
    for (int i = 0; i < draw.operands[k].rank(); ++i) {
      const int64_t source = draw.sources[k][i];
      if (source >= 0) {
        draw.operands[k][i] = shape[static_cast<int>(source)];
      }
    }
  }
  draw.result = shape;
  return draw;
}

std::optional<AttributeDraw> AttributeDraws::New(const WantedNode& wanted) {
  const Shape& shape = wanted.shape;
  switch (wanted.op) {
    case Op::kTranspose:
      return DrawTranspose(shape);
    case Op::kReshape:
      return DrawReshape(shape);
    case Op::kBroadcast:
      return DrawBroadcast(shape, wanted.of_scalar);
    case Op::kSlice:
      return DrawSlice(shape);
    case Op::kPad:
      return DrawPad(shape);
    case Op::kReverse:
      return DrawReverse(shape);
    case Op::kConcat:
      return DrawConcat(shape, wanted.operands);
    case Op::kReduce:
    case Op::kMean:
      return DrawReduce(wanted.op, shape);
    case Op::kCumulative:
    case Op::kSoftmax:
    case Op::kLogSoftmax:
      return DrawAlongAxis(wanted.op, shape);
    case Op::kDotGeneral:
      return DrawProduct(shape);
    case Op::kConvolution:
      return DrawConvolution(shape);
    case Op::kReduceWindow:
      return DrawWindow(shape);
    case Op::kGather:
      return DrawGather(shape);
    default:
      return NewElementwise(wanted);
  }
}

std::optional<AttributeDraw> AttributeDraws::NewElementwise(
    const WantedNode& wanted) {
  const OpInfo& info = Info(wanted.op);
  if (!info.has(kElementwise)) return std::nullopt;
  if (wanted.op == Op::kCast) {
    return Same(CastAttrs{.dtype = wanted.dtype}, 1, wanted.shape);
  }
  if (wanted.op == Op::kCompare) {
    const auto direction =
        EnumFromInt<Comparison>(static_cast<uint64_t>(Below(6)));
    return Same(CompareAttrs{.direction = *direction}, 2, wanted.shape);
  }
  // Structs of numbers have their defaults.
  return Same(DefaultAttributes(info.attributes), wanted.operands,
              wanted.shape);
}

AttributeDraw AttributeDraws::Same(Attributes attributes, size_t operands,
                                   const Shape& shape) {
  Ints axes(shape.rank());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  return {.attributes = std::move(attributes),
          .operands = std::vector<Shape>(operands, shape),
          .sources = std::vector<Ints>(operands, axes)};
}

AttributeDraw AttributeDraws::DrawTranspose(const Shape& shape) {
  const Ints p = RandomPermutation(shape.rank());
  Shape operand = shape;
  Ints source(shape.rank());
  for (int i = 0; i < shape.rank(); ++i) {
    operand[static_cast<int>(p[i])] = shape[i];
    source[p[i]] = i;
  }
  return {.attributes = TransposeAttrs{.permutation = p},
          .operands = {operand},
          .sources = {source}};
}

// Dims of extent 1 put in or left out, or two dims of the operand for a
// constant one.
AttributeDraw AttributeDraws::DrawReshape(const Shape& shape) {
  Shape operand;
  for (const Dim& dim : shape.dims()) {
    if (dim == Dim(1) && Chance(25)) continue;
    if (Chance(25)) operand.mutable_dims().push_back(1);
    if (dim.is_constant() && dim.constant() == 6 && Chance(50)) {
      operand.mutable_dims().push_back(2);
      operand.mutable_dims().push_back(3);
    } else {
      operand.mutable_dims().push_back(dim);
    }
  }
  if (operand.rank() >= 2 && Chance(40)) {
    const Dim last = operand.dims().back();
    operand.mutable_dims().pop_back();
    operand.mutable_dims().back() = operand.dims().back() * last;
  }
  return {.attributes = ReshapeAttrs{.shape = shape.dims()},
          .operands = {operand}};
}

AttributeDraw AttributeDraws::DrawBroadcast(const Shape& shape, bool scalar) {
  BroadcastAttrs attrs{.shape = shape.dims()};
  Shape operand;
  for (int i = 0; i < shape.rank(); ++i) {
    if (scalar || !Chance(60)) continue;
    attrs.axes.push_back(i);
    operand.mutable_dims().push_back(Chance(10) ? Dim(1) : shape[i]);
  }
  return {.attributes = attrs, .operands = {operand}};
}

AttributeDraw AttributeDraws::DrawSlice(const Shape& shape) {
  SliceAttrs attrs;
  Shape operand;
  for (const Dim& dim : shape.dims()) {
    const bool one = !dim.is_constant() || dim == Dim(0) || !Chance(40);
    const int64_t stride = one ? 1 : 1 + Below(3);
    const Dim start = Below(3);
    const Dim limit = one ? start + dim : start + (dim - 1) * stride + 1;
    attrs.starts.push_back(start);
    attrs.limits.push_back(limit);
    attrs.strides.push_back(stride);
    operand.mutable_dims().push_back(limit + Below(3));
  }
  return {.attributes = attrs, .operands = {operand}};
}

AttributeDraw AttributeDraws::DrawPad(const Shape& shape) {
  PadAttrs attrs;
  Shape operand;
  for (const Dim& dim : shape.dims()) {
    const int64_t most = dim.is_constant() ? dim.constant() : 0;
    const int64_t low = Below(std::min<int64_t>(most, 2) + 1);
    const int64_t high = Below(std::min<int64_t>(most - low, 2) + 1);
    attrs.low.push_back(low);
    attrs.high.push_back(high);
    attrs.interior.push_back(0);
    operand.mutable_dims().push_back(dim - low - high);
  }
  return {.attributes = attrs, .operands = {operand, Shape()}};
}

AttributeDraw AttributeDraws::DrawReverse(const Shape& shape) {
  AxesAttrs attrs;
  for (int i = 0; i < shape.rank(); ++i) {
    if (Chance(50)) attrs.axes.push_back(i);
  }
  return Same(attrs, 1, shape);
}

std::optional<AttributeDraw> AttributeDraws::DrawConcat(const Shape& shape,
                                                        size_t operands) {
  if (shape.rank() == 0 || operands == 0) return std::nullopt;
  const auto axis = static_cast<int>(Below(shape.rank()));
  if (!shape[axis].is_constant()) return std::nullopt;
  AttributeDraw draw = Same(AxisAttrs{.axis = axis}, operands, shape);
  int64_t rest = shape[axis].constant();
  for (size_t i = 0; i < operands; ++i) {
    const auto parts = static_cast<int64_t>(operands - i);
    const bool even = rest % parts == 0 && Chance(40);
    const int64_t extent = i + 1 == operands ? rest
                           : even            ? rest / parts
                                             : Below(rest + 1);
    draw.operands[i][axis] = extent;
    rest -= extent;
  }
  draw.sources.clear();
  return draw;
}

std::optional<AttributeDraw> AttributeDraws::DrawAlongAxis(Op op,
                                                           const Shape& shape) {
  if (shape.rank() == 0) return std::nullopt;
  const int64_t axis = Below(shape.rank());
  if (op != Op::kCumulative) return Same(AxisAttrs{.axis = axis}, 1, shape);
  return Same(
      CumulativeAttrs{
          .axis = axis, .exclusive = Chance(30), .reverse = Chance(30)},
      1, shape);
}

Combiner AttributeDraws::DrawCombiner() {
  constexpr Combiner kCombiners[] = {Combiner::kSum, Combiner::kSum,
                                     Combiner::kSum, Combiner::kMax,
                                     Combiner::kMin, Combiner::kProduct};
  return kCombiners[Below(std::size(kCombiners))];
}

// From some axis on, the first ones whose extents are not the result's.
std::optional<AttributeDraw> AttributeDraws::NewReduction(const Shape& operand,
                                                          const Shape& result) {
  const int first = static_cast<int>(Below(operand.rank() + 1));
  ReduceAttrs attrs{.combiner = DrawCombiner()};
  int left = operand.rank() - result.rank();
  int at = 0;  // of the result
  for (int i = 0; i < operand.rank(); ++i) {
    const bool fits = at < result.rank() && operand[i] == result[at];
    if (left > 0 && (!fits || i >= first)) {
      attrs.axes.push_back(i);
      --left;
    } else if (fits) {
      ++at;
    } else {
      return std::nullopt;
    }
  }
  if (left != 0 || at != result.rank()) return std::nullopt;
  return AttributeDraw{.attributes = attrs, .operands = {operand}};
}

AttributeDraw AttributeDraws::DrawReduce(Op op, const Shape& shape) {
  ReduceAttrs attrs;
  if (op == Op::kReduce) attrs.combiner = DrawCombiner();
  Shape operand;
  Ints source;
  for (int i = 0; i <= shape.rank(); ++i) {
    if (Chance(45)) {
      attrs.axes.push_back(operand.rank());
      operand.mutable_dims().push_back(RandomExtent());
      source.push_back(-1);
    }
    if (i == shape.rank()) break;
    operand.mutable_dims().push_back(shape[i]);
    source.push_back(i);
  }
  Attributes attributes = attrs;
  if (op == Op::kMean) attributes = AxesAttrs{.axes = attrs.axes};
  return {.attributes = std::move(attributes),
          .operands = {operand},
          .sources = {source}};
}

AttributeDraw AttributeDraws::DrawProduct(const Shape& shape) {
  const int rank = shape.rank();
  const auto batch = static_cast<int>(Chance(40) ? Below(rank + 1) : 0);
  const auto lhs_end = batch + static_cast<int>(Below(rank - batch + 1));
  const int64_t contracted = Chance(40) ? Below(3) : 1;
  std::vector<std::pair<int64_t, Dim>> summed;  // label, extent
  for (int64_t i = 0; i < contracted; ++i) {
    summed.emplace_back(rank + i, RandomExtent());
  }
  AttributeDraw draw;
  DotGeneralAttrs attrs;
  for (int side = 0; side < 2; ++side) {
    DrawFactor(side, batch, lhs_end, shape, summed, &attrs, &draw);
  }
  draw.attributes = attrs;
  return draw;
}

// Free dims keep their order; the others go anywhere between them.
void AttributeDraws::DrawFactor(
    int side, int batch, int lhs_end, const Shape& shape,
    const std::vector<std::pair<int64_t, Dim>>& summed, DotGeneralAttrs* attrs,
    AttributeDraw* draw) {
  const int rank = shape.rank();
  std::vector<int64_t> labels;
  for (int i = side == 0 ? batch : lhs_end; i < (side == 0 ? lhs_end : rank);
       ++i) {
    labels.push_back(i);
  }
  const auto insert = [&](int64_t label) {
    const auto size = static_cast<int64_t>(labels.size());
    labels.insert(labels.begin() + (size - Below(size + 1)), label);
  };
  for (int i = 0; i < batch; ++i) insert(i);
  for (const auto& [label, extent] : summed) insert(label);
  Shape operand;
  Ints source;
  for (const int64_t label : labels) {
    const bool free = label < rank;
    operand.mutable_dims().push_back(free ? shape[static_cast<int>(label)]
                                          : summed[label - rank].second);
    source.push_back(free ? label : -1);
  }
  const auto axis_of = [&](int64_t label) {
    return std::ranges::find(labels, label) - labels.begin();
  };
  for (int i = 0; i < batch; ++i) {
    (side == 0 ? attrs->batch.lhs : attrs->batch.rhs).push_back(axis_of(i));
  }
  for (const auto& [label, extent] : summed) {
    (side == 0 ? attrs->contract.lhs : attrs->contract.rhs)
        .push_back(axis_of(label));
  }
  draw->operands.push_back(operand);
  draw->sources.push_back(source);
}

// Slices along one axis at scalar indices, or at the places of two axes that
// vectors of indices say.
AttributeDraw AttributeDraws::DrawGather(const Shape& shape) {
  const int rank = shape.rank();
  const auto count = static_cast<int>(Below(std::min(rank, 2) + 1));
  const auto first = static_cast<int>(Below(rank - count + 1));
  GatherAttrs attrs;
  Shape operand, indices;
  for (int i = 0; i < rank; ++i) {
    if (i >= first && i < first + count) {
      indices.mutable_dims().push_back(shape[i]);
    } else {
      attrs.offset_dims.push_back(i);
      operand.mutable_dims().push_back(shape[i]);
    }
  }
  attrs.slice_sizes = operand.dims();
  const int64_t axis = Below(operand.rank() + 1);
  operand.mutable_dims().insert(operand.dims().begin() + axis,
                                Dim(1 + Below(5)));
  attrs.slice_sizes.insert(attrs.slice_sizes.begin() + axis, Dim(1));
  attrs.collapsed_slice_dims = attrs.start_index_map = {axis};
  attrs.index_vector_dim = count;
  if (Chance(25)) {
    operand.mutable_dims().insert(operand.dims().begin() + axis, Dim(3));
    attrs.slice_sizes.insert(attrs.slice_sizes.begin() + axis, Dim(1));
    attrs.collapsed_slice_dims.push_back(axis + 1);
    attrs.start_index_map.insert(attrs.start_index_map.begin(), axis + 1);
    indices.mutable_dims().push_back(2);
  }
  return {.attributes = attrs, .operands = {operand, indices}};
}

}  // namespace encore::opt
