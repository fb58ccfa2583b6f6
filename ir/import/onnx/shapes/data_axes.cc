#include "encore/ir/import/onnx/shapes/data_axes.h"

#include <algorithm>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {

StatusOr<IndexExprs> PerDim(NodeContext& context, const IndexExprs& values,
                            int axes, int rank, int64_t otherwise,
                            ShapeBuilder* shapes) {
  IndexExprs given;
  if (context.HasInput(axes)) {
    if (IsConstant(context, axes)) {
      ENCORE_ASSIGN_OR_RETURN(const Ints list, context.IntsInput(axes, "axes"));
      ENCORE_RETURN_IF_ERROR(
          context.AxesList(list, rank, "input axes").status());
    }
    ENCORE_ASSIGN_OR_RETURN(given, ElementsOf(context, axes, "axes"));
  } else {
    for (size_t k = 0; k < values.size(); ++k) {
      given.emplace_back(static_cast<int64_t>(k));
    }
  }
  if (given.size() != values.size() ||
      given.size() > static_cast<size_t>(rank)) {
    return NodeContext::Error(StrCat(values.size(), " entries for ",
                                     given.size(), " axes of ", rank));
  }
  IndexExprs all(rank, otherwise);
  for (size_t k = 0; k < given.size(); ++k) {
    const IndexExpr axis = shapes->RequireAxis(given[k], rank);
    for (int d = 0; d < rank; ++d) {
      all[d] = Select(axis == d, values[k], all[d]);
    }
  }
  return all;
}

StatusOr<IndexExprs> MarksByData(NodeContext& context, int rank,
                                 ShapeBuilder* shapes) {
  ENCORE_ASSIGN_OR_RETURN(const IndexExprs axes,
                          ElementsOf(context, 1, "axes"));
  ENCORE_ASSIGN_OR_RETURN(
      IndexExprs marks,
      PerDim(context, IndexExprs(axes.size(), 1), 1, rank, 0, shapes));
  // As many dims as axes: none is named twice.
  IndexExpr named = 0;
  for (const IndexExpr& mark : marks) named = named + mark;
  shapes->Require(named == static_cast<int64_t>(axes.size()));
  return marks;
}

StatusOr<Value> MoveOnesByData(NodeContext& context, Value x, bool drops) {
  const Shape from = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(const IndexExprs axes,
                          ElementsOf(context, 1, "axes"));
  const auto count = static_cast<int>(axes.size());
  const int wide = drops ? from.rank() : from.rank() + count;
  if (wide < count || wide > kMaxRank) {
    return NodeContext::Error(StrCat(count, " axes for a rank of ", wide));
  }
  ShapeBuilder shapes(context);
  // Whether each of the wider shape's dims is one of the axes.
  ENCORE_ASSIGN_OR_RETURN(const IndexExprs marks,
                          MarksByData(context, wide, &shapes));
  IndexExprs extents(drops ? wide - count : wide, 1);
  IndexExpr before = 0;  // dims of the narrower shape that came before
  for (int d = 0; d < wide; ++d) {
    const Condition other = marks[d] == 0;
    if (drops) {
      const IndexExpr extent = shapes.Extent(from[d]);
      shapes.Require(Or(other, extent == 1));
      for (size_t k = 0; k < extents.size(); ++k) {
        extents[k] = Select(And(other, before == static_cast<int64_t>(k)),
                            extent, extents[k]);
      }
    } else {
      for (int k = 0; k < from.rank(); ++k) {
        extents[d] =
            Select(And(other, before == k), shapes.Extent(from[k]), extents[d]);
      }
    }
    before = before + 1 - marks[d];
  }
  const IndexExpr most = Max(shapes.Extent(from.ElementCount()), 1);
  Dims dims;
  for (const IndexExpr& extent : extents) {
    dims.push_back(shapes.Define(extent, most.UpperBound()));
  }
  ENCORE_ASSIGN_OR_RETURN(
      const Value checked,
      shapes.Assert(x,
                    "input axes has an entry twice, an entry that is not an "
                    "axis, or an axis whose extent is not 1"));
  return context.Reshape(checked, std::move(dims));
}

Status CumulativeByData(NodeContext& context, Combiner combiner, bool exclusive,
                        bool reverse) {
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(IndexExpr axis, ElementOf(context, 1, "axis"));
  if (x.rank() == 0) {
    return NodeContext::Error("input axis is not an axis of input x");
  }
  ShapeBuilder shapes(context);
  axis = shapes.RequireAxis(axis, x.rank());
  ENCORE_ASSIGN_OR_RETURN(
      const Value checked,
      shapes.Assert(x, "input axis is not an axis of input x"));
  Value sum;
  for (int d = 0; d < x.rank(); ++d) {
    const Value along =
        g.Cumulative(checked, {combiner, d, exclusive, reverse});
    sum = d == 0 ? along : g.Select((axis == d).ToValue(g), along, sum);
  }
  return context.Output(0, sum);
}

}  // namespace encore::onnx
