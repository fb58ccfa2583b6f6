#include "encore/ir/import/onnx/shapes/unify_dims.h"

#include <algorithm>
#include <utility>

#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {
namespace {

bool IsOne(const Dim& dim) { return dim == Dim(1); }

// The extent of the dim that is `from_end` before the last; 1 where there is
// none.
Dim FromEnd(const Value& value, int from_end) {
  const int axis = value.rank() - 1 - from_end;
  return axis < 0 ? Dim(1) : value.shape()[axis];
}

// The extents of one dim of values that broadcast, but for ones; each once.
std::vector<Dim> Extents(const std::vector<Value>& values, int from_end) {
  std::vector<Dim> extents;
  for (const Value& value : values) {
    const Dim extent = FromEnd(value, from_end);
    if (!IsOne(extent) && std::ranges::find(extents, extent) == extents.end()) {
      extents.push_back(extent);
    }
  }
  return extents;
}

struct Common {
  Dim extent;
  Value size;  // the same as a scalar
};

// Of extents of which data say which are 1, the one that the others repeat to:
// one of them that surely is not 1, else a data-dependent one.
Common CommonExtent(NodeContext& context, const std::vector<Dim>& extents,
                    SizesByData* sizes) {
  GraphBuilder& g = context.builder();
  const auto surely = [&](const Dim& extent) {
    return extent.is_constant() || extent.LowerBound(g.graph().symbols()) > 1;
  };
  const auto at = std::ranges::find_if(extents, surely);
  if (at != extents.end()) return {*at, DimValue(context, *at)};
  int64_t most = 0;
  Value size;
  for (const Dim& extent : extents) {
    most = std::max(most, extent.UpperBound(g.graph().symbols()));
    const Value own = DimValue(context, extent);
    size = size.valid()
               ? g.Select(g.Compare(size, 1, Comparison::kEq), own, size)
               : own;
  }
  return {sizes->Add(size, most), size};
}

// One dim of values that broadcast.
void Spread(NodeContext& context, int from_end, std::vector<Value>* values) {
  GraphBuilder& g = context.builder();
  const std::vector<Dim> extents = Extents(*values, from_end);
  const auto found = [&](const Dim& dim) { return IsFoundOut(context, dim); };
  const auto known = std::ranges::count_if(extents, &Dim::is_constant);
  if (extents.size() < 2 || known > 1 || std::ranges::none_of(extents, found)) {
    return;
  }
  SizesByData sizes(context);
  const auto [common, size] = CommonExtent(context, extents, &sizes);
  for (const Dim& extent : extents) {
    if (extent == common) continue;
    const Value own = DimValue(context, extent);
    sizes.Require(g.Or(g.Compare(own, 1, Comparison::kEq),
                       g.Compare(own, size, Comparison::kEq)));
  }
  for (Value& value : *values) {
    const Dim extent = FromEnd(value, from_end);
    if (IsOne(extent) || extent == common) continue;
    const StatusOr<Value> checked = sizes.Assert(
        value, "the inputs have shapes that do not broadcast together");
    if (!checked.ok()) {
      g.Fail(checked.status());
      return;
    }
    // A gather stays within its operand: an extent of 1 is repeated.
    value =
        g.Take(*checked, sizes.CountTo(common), value.rank() - 1 - from_end);
  }
}

// `value` with another extent, which the call must find to be its own.
Value WithExtent(NodeContext& context, Value value, int axis, Dim extent) {
  Dims dims = value.shape().dims();
  dims[axis] = std::move(extent);
  return context.Reshape(value, std::move(dims));
}

}  // namespace

std::vector<Value> BroadcastAll(NodeContext& context,
                                std::vector<Value> values) {
  int rank = 0;
  for (const Value& value : values) rank = std::max(rank, value.rank());
  for (int d = 0; d < rank; ++d) Spread(context, d, &values);
  context.builder().BroadcastTogether(values);
  return values;
}

void UnifyDims(NodeContext& context, Value* x, int x_axis, Value* y,
               int y_axis) {
  const Dim a = x->shape()[x_axis], b = y->shape()[y_axis];
  if (a == b || (!IsFoundOut(context, a) && !IsFoundOut(context, b))) return;
  if (b.is_constant() || !IsFoundOut(context, b)) {
    *x = WithExtent(context, *x, x_axis, b);
  } else {
    *y = WithExtent(context, *y, y_axis, a);
  }
}

void UnifyDimsExcept(NodeContext& context, int axis,
                     std::vector<Value>* values) {
  for (size_t i = 1; i < values->size(); ++i) {
    if ((*values)[i].rank() != (*values)[0].rank()) return;
  }
  // Once to find what is known, once to say so to all.
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t i = 1; i < values->size(); ++i) {
      for (int d = 0; d < (*values)[0].rank(); ++d) {
        if (d != axis) UnifyDims(context, &(*values)[0], d, &(*values)[i], d);
      }
    }
  }
}

Value MatMul(NodeContext& context, Value a, Value b) {
  if (a.rank() > 0 && b.rank() > 0) {
    UnifyDims(context, &a, a.rank() - 1, &b, std::max(b.rank() - 2, 0));
  }
  std::vector<Value> both = {a, b};
  for (int d = 2; d < std::max(a.rank(), b.rank()); ++d) {
    Spread(context, d, &both);
  }
  return context.builder().MatMul(both[0], both[1]);
}

}  // namespace encore::onnx
