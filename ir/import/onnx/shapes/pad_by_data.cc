#include "encore/ir/import/onnx/shapes/pad_by_data.h"

#include <utility>

#include "encore/ir/import/onnx/shapes/by_data.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

using Values = std::vector<Value>;

// Longer pads would make extents beyond what 64 bits hold.
constexpr int64_t kFar = int64_t{1} << 61;

// The remainder of i64 values with the sign of the divisor, which is positive.
Value FloorMod(GraphBuilder& g, Value x, Value divisor) {
  return g.Rem(g.Add(g.Rem(x, divisor), divisor), divisor);
}

// Slices of x along `axis` at `positions`, which lie within, or where they are
// `outside`, `fill`.
Value TakeOrFill(NodeContext& context, Value x, int axis, Value positions,
                 Value outside, Value fill) {
  GraphBuilder& g = context.builder();
  const Shape shape = context.shape(x);
  const Value taken = g.Take(x, g.Select(outside, 0, positions), axis);
  Dims column(shape.rank() - axis, 1);
  column[0] = context.shape(positions)[0];
  return g.Select(context.Reshape(outside, std::move(column)), fill, taken);
}

// x with what lies at the positions `at` along an axis, within and outside of
// it, as Pad's mode says.
Value PadAxis(NodeContext& context, Value x, int axis, Value at,
              std::string_view mode, Value fill) {
  GraphBuilder& g = context.builder();
  const Dim dim = context.shape(x)[axis];
  const Value extent = DimValue(context, dim);
  const Value last = g.Sub(extent, 1);
  if (mode == "edge") return g.Take(x, g.Max(g.Min(at, last), 0), axis);
  if (mode == "wrap") {
    return g.Take(x, FloorMod(g, at, g.Max(extent, 1)), axis);
  }
  if (mode == "reflect") {
    const Value folded = FloorMod(g, at, g.Max(g.Mul(last, 2), 1));
    return g.Take(x, g.Min(folded, g.Sub(g.Mul(last, 2), folded)), axis);
  }
  // An axis without elements has none to take: one is put there.
  if (dim.LowerBound(g.graph().symbols()) < 1) {
    Dims low(x.rank(), 0), high = low;
    high[axis] = 1;
    x = g.Pad(x, fill, std::move(low), std::move(high));
  }
  const Value outside = g.Or(g.Compare(at, 0, Comparison::kLt),
                             g.Compare(at, extent, Comparison::kGe));
  return TakeOrFill(context, x, axis, at, outside, fill);
}

}  // namespace

Status PadByData(NodeContext& context, std::string_view mode) {
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  const Shape shape = context.shape(x);
  const int rank = shape.rank();
  SizesByData sizes(context);
  ENCORE_ASSIGN_OR_RETURN(const Values pads, ElementsOf(context, 1, "pads"));
  const size_t half = pads.size() / 2;
  ENCORE_ASSIGN_OR_RETURN(
      const Values lows,
      PerDim(context, Values(pads.begin(), pads.begin() + half), 3, rank, 0,
             &sizes));
  ENCORE_ASSIGN_OR_RETURN(
      const Values highs,
      PerDim(context, Values(pads.begin() + half, pads.end()), 3, rank, 0,
             &sizes));
  const bool fills = mode == "constant";
  Dims dims;
  for (int d = 0; d < rank; ++d) {
    if (IsNumber(lows[d], 0) && IsNumber(highs[d], 0)) {
      dims.push_back(shape[d]);
      continue;
    }
    const Value extent = DimValue(context, shape[d]);
    if (!fills) sizes.Require(g.Compare(extent, 0, Comparison::kGt));
    for (const Value& pad : {lows[d], highs[d]}) {
      sizes.Require(g.And(g.Compare(pad, -kFar, Comparison::kGt),
                          g.Compare(pad, kFar, Comparison::kLt)));
    }
    dims.push_back(
        sizes.Add(g.Add(extent, g.Add(lows[d], highs[d])), std::nullopt));
  }
  ENCORE_ASSIGN_OR_RETURN(
      x, sizes.Assert(
             x,
             "input pads leads to a negative extent, or pads an empty axis by "
             "repeating its elements"));
  Value fill = context.Scalar(x.dtype(), 0);
  if (fills && context.HasInput(2))
    fill = context.Reshape(context.Input(2), {});
  for (int d = 0; d < rank; ++d) {
    ENCORE_RETURN_IF_ERROR(g.status());
    if (IsNumber(lows[d], 0) && IsNumber(highs[d], 0)) continue;
    const Value at = g.Sub(sizes.CountTo(dims[d]), lows[d]);
    x = PadAxis(context, x, d, at, mode, fill);
  }
  return context.Output(0, x);
}

StatusOr<Value> FitByData(NodeContext& context, Value x, const Ints& axes,
                          int input, std::string_view name, bool centred) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const Values wanted,
                          ElementsOf(context, input, name));
  if (wanted.size() != axes.size()) {
    return NodeContext::Error(StrCat("input ", name, " has ", wanted.size(),
                                     " entries for ", axes.size(), " axes"));
  }
  SizesByData sizes(context);
  Dims dims;
  for (const Value& extent : wanted) {
    dims.push_back(sizes.Add(extent, std::nullopt));
  }
  ENCORE_ASSIGN_OR_RETURN(
      x, sizes.Assert(x, StrCat("input ", name, " has a negative entry")));
  const Value zero = context.Scalar(x.dtype(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    ENCORE_RETURN_IF_ERROR(g.status());
    const auto axis = static_cast<int>(axes[i]);
    Value at = sizes.CountTo(dims[i]);
    if (centred) {
      const Value extent = DimValue(context, context.shape(x)[axis]);
      at = g.Sub(at, g.Div(g.Sub(wanted[i], extent), 2));
    }
    x = PadAxis(context, x, axis, at, "constant", zero);
  }
  return x;
}

}  // namespace encore::onnx
