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

// `value` with another extent, which the call must find to be its own.
Value WithExtent(NodeContext& context, Value value, int axis, Dim extent) {
  if (!value.valid()) return value;
  Dims dims = value.shape().dims();
  dims[axis] = std::move(extent);
  return context.Reshape(value, std::move(dims));
}

// The dim of `value`; with a constant in its place where a fact says so.
Dim ExtentAt(NodeContext& context, Value* value, int axis) {
  if (!value->valid()) return Dim::Invalid();
  const Dim extent = value->shape()[axis];
  const Dim known = context.scope().equal_dims().Canonical(extent);
  if (!known.is_constant() || extent.is_constant()) return extent;
  *value = WithExtent(context, *value, axis, known);
  return known;
}

// The extents of one dim of values that broadcast, but for ones; each once.
// Values whose extents are known to be equal get one.
std::vector<Dim> Extents(NodeContext& context, int from_end,
                         std::vector<Value>* values) {
  const EqualDims& equal = context.scope().equal_dims();
  const auto differ = [&](const Value& value) {
    return FromEnd(value, from_end) != FromEnd(values->front(), from_end);
  };
  std::vector<Dim> extents;
  if (std::ranges::none_of(*values, differ)) return extents;
  for (Value& value : *values) {
    const int axis = value.rank() - 1 - from_end;
    const Dim extent = axis < 0 ? Dim(1) : ExtentAt(context, &value, axis);
    if (IsOne(extent) || std::ranges::find(extents, extent) != extents.end()) {
      continue;
    }
    const auto same = std::ranges::find_if(extents, [&](const Dim& other) {
      return equal.AreEqual(extent, other);
    });
    if (same == extents.end()) {
      extents.push_back(extent);
    } else {
      value = WithExtent(context, value, axis, *same);
    }
  }
  return extents;
}

// Of extents of which data say which are 1, the one that the others repeat to:
// one of them that surely is not 1, else a data-dependent one.
IndexExpr CommonExtent(const std::vector<Dim>& extents,
                       const ShapeBuilder& shapes) {
  IndexExpr common = shapes.Extent(extents[0]);
  for (const Dim& extent : extents) {
    const IndexExpr own = shapes.Extent(extent);
    if (extent.is_constant() || own.LowerBound() > 1) return own;
    common = Select(common == 1, own, common);
  }
  return common;
}

// One dim of values that broadcast.
void Spread(NodeContext& context, int from_end, std::vector<Value>* values) {
  GraphBuilder& g = context.builder();
  std::vector<Dim> extents = Extents(context, from_end, values);
  const auto by_data = [&](const Dim& dim) {
    return IsDataDependent(context, dim);
  };
  const auto known = std::ranges::count_if(extents, &Dim::is_constant);
  if (extents.size() < 2 || known > 1 ||
      std::ranges::none_of(extents, by_data)) {
    return;
  }
  ShapeBuilder shapes(context);
  const IndexExpr size = CommonExtent(extents, shapes);
  const Dim common = shapes.Define(size);
  for (const Dim& extent : extents) {
    if (extent == common) continue;
    const IndexExpr own = shapes.Extent(extent);
    if (own.LowerBound() > 1) {
      shapes.RequireEqual(own, size);
    } else {
      shapes.Require(Or(own == 1, own == size));
    }
  }
  for (Value& value : *values) {
    const Dim extent = FromEnd(value, from_end);
    if (IsOne(extent) || extent == common) continue;
    const StatusOr<Value> checked = shapes.Assert(
        value, "the inputs have shapes that do not broadcast together");
    if (!checked.ok()) {
      g.Fail(checked.status());
      return;
    }
    const int axis = value.rank() - 1 - from_end;
    // A gather stays within its operand: an extent of 1 is repeated.
    value = shapes.Extent(extent).LowerBound() > 1
                ? WithExtent(context, *checked, axis, common)
                : g.Take(*checked, CountTo(context, common), axis);
  }
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
  Dim a = x->shape()[x_axis], b = y->shape()[y_axis];
  if (a == b || (!IsDataDependent(context, a) && !IsDataDependent(context, b)))
    return;
  a = ExtentAt(context, x, x_axis);
  b = ExtentAt(context, y, y_axis);
  if (a.is_constant() && b.is_constant()) return;
  context.scope().equal_dims().Add(a, b);
  if (b.is_constant() || !IsDataDependent(context, b)) {
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
