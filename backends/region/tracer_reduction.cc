// Reductions and contractions: stages.
#include <algorithm>

#include "encore/backends/region/scalar.h"
#include "encore/backends/region/tracer.h"
#include "encore/ir/support/check.h"
#include "encore/ir/types/float_formats.h"

namespace encore::backends {
namespace {

RegionCombiner ArgCombiner(const ArgReduceAttrs& attrs) {
  if (attrs.combiner == Combiner::kMax) {
    return attrs.last ? RegionCombiner::kArgMaxLast : RegionCombiner::kArgMax;
  }
  return attrs.last ? RegionCombiner::kArgMinLast : RegionCombiner::kArgMin;
}

}  // namespace

std::optional<std::vector<uint32_t>> Tracer::RowOf(
    const Indices& indices) const {
  std::vector<uint32_t> row;
  for (const Index& index : indices) {
    if (index.indirect.valid()) return std::nullopt;
    for (const Index::Term& term : index.terms) row.push_back(term.variable);
  }
  std::sort(row.begin(), row.end());
  row.erase(std::unique(row.begin(), row.end()), row.end());
  return row;
}

uint32_t Tracer::AddStage(Stage stage, std::vector<uint32_t> row) {
  region_.stages.push_back(std::move(stage));
  rows_.push_back(std::move(row));
  return static_cast<uint32_t>(region_.stages.size() - 1);
}

Tracer::Result Tracer::Reduction(NodeId node, const Indices& indices) {
  // Stages are per row; a row that depends on data, or may not exist, has none.
  if (guarded_ > 0 || !RowOf(indices).has_value()) return std::nullopt;
  switch (graph_.op(node)) {
    case Op::kReduce:
    case Op::kArgReduce:
      return Reduce(node, indices);
    case Op::kReduceWindow:
      return ReduceWindow(node, indices);
    case Op::kCumulative:
      return Cumulative(node, indices);
    case Op::kDotGeneral:
      return region_.contraction.has_value() ? std::nullopt
                                             : Dot(node, indices);
    case Op::kConvolution:
      return region_.contraction.has_value() ? std::nullopt
                                             : Convolution(node, indices);
    default:
      return std::nullopt;
  }
}

Index Tracer::ReducedIndex(NodeId node, int axis, const Dim& extent, bool reuse,
                           const std::vector<uint32_t>& row,
                           std::vector<uint32_t>* reduced) {
  const DimKey key = {2 * node.value() + 1, axis};
  Index index;
  int part = 0;
  for (const Dim& size : PartsOf(key, extent)) {
    std::optional<uint32_t> variable;
    for (uint32_t v = 0; reuse && !variable && v < region_.extents.size();
         ++v) {
      if (region_.extents[v] == size &&
          !std::binary_search(row.begin(), row.end(), v) &&
          std::find(reduced->begin(), reduced->end(), v) == reduced->end()) {
        variable = v;
      }
    }
    if (!variable.has_value()) variable = NewVariable(size, key, part);
    ++part;
    reduced->push_back(*variable);
    index = Sum(Multiple(index, size), VariableIndex(*variable));
  }
  return index;
}

std::optional<Index> Tracer::IndexBefore(
    ValueId operand, int axis, const Ints& axes, const Indices& indices,
    const std::vector<uint32_t>& row) const {
  const auto traced = traced_.find(operand);
  if (traced == traced_.end()) return std::nullopt;
  size_t next = 0;
  for (int d = 0; d < static_cast<int>(traced->second.size()); ++d) {
    if (std::find(axes.begin(), axes.end(), d) != axes.end()) continue;
    if (traced->second[d] != indices[next++]) return std::nullopt;
  }
  const Index& index = traced->second[axis];
  for (const Index::Term& term : index.terms) {
    if (std::binary_search(row.begin(), row.end(), term.variable)) {
      return std::nullopt;
    }
  }
  if (!Covers(index, graph_.shape(operand)[axis], region_.extents)) {
    return std::nullopt;
  }
  return index;
}

Tracer::Result Tracer::Reduce(NodeId node, const Indices& indices) {
  const ValueId operand = graph_.operand(node, 0);
  const Shape& shape = graph_.shape(operand);
  const bool arg = graph_.op(node) == Op::kArgReduce;
  Ints axes;
  Stage stage{.kind = Stage::Kind::kReduce};
  if (arg) {
    const ArgReduceAttrs& attrs = graph_.attrs<ArgReduceAttrs>(node);
    axes = {attrs.axis};
    stage.combiner = ArgCombiner(attrs);
  } else {
    const ReduceAttrs& attrs = graph_.attrs<ReduceAttrs>(node);
    axes = attrs.axes;
    stage.combiner = ToRegionCombiner(attrs.combiner);
  }
  std::vector<uint32_t> row = *RowOf(indices);
  Indices from;
  size_t next = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
      from.push_back(indices[next++]);
    } else if (auto index = IndexBefore(operand, d, axes, indices, row)) {
      for (const Index::Term& term : index->terms) {
        stage.reduced.push_back(term.variable);
      }
      from.push_back(*std::move(index));
    } else {
      from.push_back(
          ReducedIndex(node, d, shape[d], true, row, &stage.reduced));
    }
  }
  if (arg && stage.reduced.size() > 1) return std::nullopt;
  const Result value = ValueAt(operand, from);
  if (!value.has_value()) return std::nullopt;
  stage.value = *value;
  stage.dtype = graph_.dtype(graph_.result(node));
  stage.accumulate = AccumulateDType(graph_.dtype(operand));
  return Kept(AddStage(std::move(stage), std::move(row)));
}

ExprId Tracer::IdentityOf(Combiner combiner, DType dtype) {
  const bool is_float = IsFloat(dtype);
  const int width = BitWidth(dtype);
  const uint64_t sign = uint64_t{1} << (width - 1);
  const uint64_t ones = width == 64 ? ~uint64_t{0} : (sign << 1) - 1;
  switch (combiner) {
    case Combiner::kSum:
    case Combiner::kOr:
      return Constant(dtype, 0);
    case Combiner::kProduct:
      return Constant(dtype, ToBits(dtype, OfInt(dtype, 1)));
    case Combiner::kAnd:
      return Constant(dtype, dtype == DType::kBool ? 1 : ones);
    case Combiner::kMax:
    case Combiner::kMin:
      break;
  }
  const bool max = combiner == Combiner::kMax;
  if (dtype == DType::kBool) return Constant(dtype, max ? 0 : 1);
  if (is_float) {
    const double limit = UpperLimit(dtype);
    return Constant(dtype,
                    ToBits(dtype, OfDouble(dtype, max ? -limit : limit)));
  }
  if (!IsSigned(dtype)) return Constant(dtype, max ? 0 : ones);
  return Constant(dtype, max ? sign : sign - 1);
}

Tracer::Result Tracer::ReduceWindow(NodeId node, const Indices& indices) {
  const ReduceWindowAttrs& attrs = graph_.attrs<ReduceWindowAttrs>(node);
  const ValueId operand = graph_.operand(node, 0);
  const DType dtype = graph_.dtype(operand);
  Stage stage{.kind = Stage::Kind::kReduce};
  std::vector<uint32_t> row = *RowOf(indices);
  Indices from;
  for (size_t d = 0; d < indices.size(); ++d) {
    const Index window =
        ReducedIndex(node, static_cast<int>(d), Dim(attrs.window[d]), false,
                     row, &stage.reduced);
    from.push_back(Plus(Sum(Multiple(indices[d], attrs.strides[d]),
                            Multiple(window, attrs.dilations[d])),
                        -attrs.padding_low[d]));
  }
  const Result value =
      ValueAtOr(operand, from, IdentityOf(attrs.combiner, dtype));
  if (!value.has_value()) return std::nullopt;
  stage.value = *value;
  stage.combiner = ToRegionCombiner(attrs.combiner);
  stage.dtype = dtype;
  stage.accumulate = AccumulateDType(dtype);
  return Kept(AddStage(std::move(stage), std::move(row)));
}

Tracer::Result Tracer::Cumulative(NodeId node, const Indices& indices) {
  const CumulativeAttrs& attrs = graph_.attrs<CumulativeAttrs>(node);
  const ValueId operand = graph_.operand(node, 0);
  const Dim& extent = graph_.shape(operand)[attrs.axis];
  const auto along = [&](const Index& at) {
    return attrs.reverse ? Plus(Multiple(at, -1), extent - 1) : at;
  };
  Indices kept = indices;
  kept.erase(kept.begin() + attrs.axis);
  std::vector<uint32_t> row = *RowOf(kept);
  const uint32_t variable = NewVariable(extent, {2 * node.value() + 1, 0}, 0);
  Indices from = indices;
  from[attrs.axis] = along(VariableIndex(variable));
  const Result value = ValueAt(operand, from);
  if (!value.has_value()) return std::nullopt;
  Stage stage{.kind = Stage::Kind::kScan};
  stage.loops = {variable};
  stage.combiner = ToRegionCombiner(attrs.combiner);
  stage.exclusive = attrs.exclusive;
  stage.dtype = graph_.dtype(operand);
  stage.accumulate = AccumulateDType(stage.dtype);
  stage.value = *value;
  return LoadStage(AddStage(std::move(stage), std::move(row)),
                   {along(indices[attrs.axis])});
}

ExprId Tracer::Product(ExprId lhs, ExprId rhs) {
  const DType dtype = AccumulateDType(region_.expr(lhs).dtype);
  return OfOp(Op::kMul, dtype, {Cast(dtype, lhs), Cast(dtype, rhs)});
}

Tracer::Result Tracer::Factor(const Result& value, const Indices& indices) {
  if (!value.has_value() || !region_.contraction.has_value()) return value;
  const std::vector<bool> needed = Reachable(region_, {*value});
  bool computed = false;
  for (size_t e = 0; e < needed.size(); ++e) {
    computed |= needed[e] && region_.exprs[e].kind == Expr::Kind::kLoad &&
                region_.accesses[region_.exprs[e].number].source ==
                    Access::Source::kStage;
  }
  if (!computed) return value;
  std::optional<std::vector<uint32_t>> row = RowOf(indices);
  if (!row.has_value()) return std::nullopt;
  chained_ = true;
  Stage stage{.kind = Stage::Kind::kMap};
  stage.dtype = stage.accumulate = region_.expr(*value).dtype;
  stage.value = *value;
  return Kept(AddStage(std::move(stage), *std::move(row)));
}

Tracer::Result Tracer::Dot(NodeId node, const Indices& indices) {
  const DotGeneralAttrs& attrs = graph_.attrs<DotGeneralAttrs>(node);
  const ValueId operands[] = {graph_.operand(node, 0), graph_.operand(node, 1)};
  const Ints* contract[] = {&attrs.contract.lhs, &attrs.contract.rhs};
  const Ints* batch[] = {&attrs.batch.lhs, &attrs.batch.rhs};
  Stage stage{.kind = Stage::Kind::kReduce};
  std::vector<uint32_t> row = *RowOf(indices);
  Indices from[2];
  Contraction contraction;
  for (int side = 0; side < 2; ++side) {
    from[side].resize(graph_.shape(operands[side]).rank());
  }
  for (size_t i = 0; i < attrs.contract.lhs.size(); ++i) {
    const int axis = static_cast<int>(attrs.contract.lhs[i]);
    const Index k = ReducedIndex(node, axis, graph_.shape(operands[0])[axis],
                                 false, row, &stage.reduced);
    from[0][axis] = k;
    from[1][attrs.contract.rhs[i]] = k;
  }
  const auto variables = [](const Index& index, std::vector<uint32_t>* list) {
    for (const Index::Term& term : index.terms) list->push_back(term.variable);
  };
  size_t next = 0;
  for (size_t i = 0; i < attrs.batch.lhs.size(); ++i) {
    variables(indices[next], &contraction.batch);
    from[0][attrs.batch.lhs[i]] = indices[next];
    from[1][attrs.batch.rhs[i]] = indices[next++];
  }
  for (int side = 0; side < 2; ++side) {
    for (int64_t d = 0; d < static_cast<int64_t>(from[side].size()); ++d) {
      const auto in = [d](const Ints& list) {
        return std::find(list.begin(), list.end(), d) != list.end();
      };
      if (in(*contract[side]) || in(*batch[side])) continue;
      variables(indices[next], side == 0 ? &contraction.m : &contraction.n);
      from[side][d] = indices[next++];
    }
  }
  contraction.k = stage.reduced;
  const Result lhs = Factor(ValueAt(operands[0], from[0]), from[0]);
  const Result rhs = Factor(ValueAt(operands[1], from[1]), from[1]);
  if (!lhs.has_value() || !rhs.has_value()) return std::nullopt;
  contraction.lhs = *lhs;
  contraction.rhs = *rhs;
  stage.value = Product(*lhs, *rhs);
  stage.dtype = graph_.dtype(operands[0]);
  stage.accumulate = AccumulateDType(stage.dtype);
  const uint32_t number = AddStage(std::move(stage), std::move(row));
  contraction.stage = number;
  region_.contraction = std::move(contraction);
  return Kept(number);
}

Tracer::Result Tracer::Convolution(NodeId node, const Indices& indices) {
  const ConvolutionAttrs& attrs = graph_.attrs<ConvolutionAttrs>(node);
  const ValueId lhs_value = graph_.operand(node, 0);
  const ValueId rhs_value = graph_.operand(node, 1);
  const Shape& lhs_shape = graph_.shape(lhs_value);
  const Shape& rhs_shape = graph_.shape(rhs_value);
  Stage stage{.kind = Stage::Kind::kReduce};
  std::vector<uint32_t> row = *RowOf(indices);
  const int64_t groups = std::max(attrs.feature_groups, attrs.batch_groups);
  Index group;
  if (groups > 1) {
    const Dim extents[] = {Dim(groups), FloorDiv(rhs_shape[0], Dim(groups))};
    const auto parts = Delinearize(indices[1], extents);
    if (!parts.has_value()) return std::nullopt;
    group = (*parts)[0];
    if (group.indirect.valid()) return std::nullopt;
  }
  const Index channel =
      ReducedIndex(node, 0, rhs_shape[1], false, row, &stage.reduced);
  Indices from = {indices[0], channel}, weights = {indices[1], channel};
  if (attrs.feature_groups > 1) {
    from[1] = Sum(Multiple(group, rhs_shape[1]), channel);
  } else if (attrs.batch_groups > 1) {
    from[0] =
        Sum(Multiple(group, FloorDiv(lhs_shape[0], Dim(attrs.batch_groups))),
            indices[0]);
  }
  for (int d = 2; d < rhs_shape.rank(); ++d) {
    const Index window =
        ReducedIndex(node, d - 1, rhs_shape[d], false, row, &stage.reduced);
    Index position = Plus(Sum(Multiple(indices[d], attrs.strides[d - 2]),
                              Multiple(window, attrs.rhs_dilation[d - 2])),
                          -attrs.padding_low[d - 2]);
    position.divisor = attrs.lhs_dilation[d - 2];
    from.push_back(std::move(position));
    weights.push_back(window);
  }
  const DType dtype = graph_.dtype(lhs_value);
  const Result lhs = ValueAtOr(lhs_value, from, Constant(dtype, 0));
  const Result rhs = ValueAt(rhs_value, weights);
  if (!lhs.has_value() || !rhs.has_value()) return std::nullopt;
  stage.value = Product(*lhs, *rhs);
  stage.dtype = dtype;
  stage.accumulate = AccumulateDType(dtype);
  const uint32_t number = AddStage(std::move(stage), std::move(row));
  region_.contraction =
      Contraction{.kind = Contraction::Kind::kConvolution,
                  .stage = number,
                  .lhs = *lhs,
                  .rhs = *rhs,
                  .convolution = attrs,
                  .lhs_dims = lhs_shape.dims(),
                  .rhs_dims = rhs_shape.dims(),
                  .result_dims = graph_.shape(graph_.result(node)).dims()};
  return Kept(number);
}

}  // namespace encore::backends
