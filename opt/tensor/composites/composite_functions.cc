#include "encore/opt/tensor/composites/composite_functions.h"

#include <algorithm>
#include <cstdint>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/types/shape.h"

namespace encore::opt {
namespace {

// broadcast(reduce(x) {r}) {b}, of r, b, x: the axis that alone is reduced,
// where each result stands beside the elements that it is of.
bool ReducedAxis(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const r = call.attrs<ReduceAttrs>(0);
  const auto* const b = call.attrs<BroadcastAttrs>(1);
  const Shape& x = call.shape(2);
  if (r == nullptr || b == nullptr || r->axes.size() != 1 ||
      !(Shape(b->shape) == x)) {
    return false;
  }
  int64_t axis = 0;  // of x
  for (const int64_t kept : b->axes) {
    axis += axis == r->axes[0];
    if (kept != axis++) return false;
  }
  results[0] = AxisAttrs{.axis = r->axes[0]};
  return b->axes.size() + 1 == static_cast<size_t>(x.rank());
}

// A composite along an axis, of what has two elements there: each in place of
// the other.
bool ReverseOfTwo(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const a = call.attrs<AxisAttrs>(0);
  const Shape& x = call.shape(1);
  if (a == nullptr || a->axis < 0 || a->axis >= x.rank() ||
      !(x[static_cast<int>(a->axis)] == Dim(2))) {
    return false;
  }
  results[0] = AxesAttrs{.axes = {a->axis}};
  return true;
}

// broadcast(v) {b}, of b, an axis, v: whether it is one number along the axis.
bool AlikeAlong(const FunctionCall& call, std::span<Attributes>) {
  const auto* const b = call.attrs<BroadcastAttrs>(0);
  const auto* const a = call.attrs<AxisAttrs>(1);
  const Shape& v = call.shape(2);
  if (b == nullptr || a == nullptr ||
      b->axes.size() != static_cast<size_t>(v.rank())) {
    return false;
  }
  const auto at = std::ranges::find(b->axes, a->axis);
  return at == b->axes.end() ||
         v[static_cast<int>(at - b->axes.begin())] == Dim(1);
}

constexpr AttributeFunction kFunctions[] = {
    {"reduced_axis", "aat", 1,
     "The axis that alone is reduced of the tensor, where the broadcast puts "
     "the results beside it.",
     ReducedAxis},
    {"reverse_of_two", "at", 1,
     "The reverse along an axis of which the tensor has two elements.",
     ReverseOfTwo},
    {"alike_along", "aat", 0,
     "A broadcast of the tensor is one number along the axis.", AlikeAlong},
};

}  // namespace

std::span<const AttributeFunction> CompositeFunctions() { return kFunctions; }

}  // namespace encore::opt
