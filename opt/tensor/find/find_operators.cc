#include "encore/opt/tensor/find/find_operators.h"

namespace encore::opt {
namespace {

using Shapes = std::span<const Shape>;
using Found = std::optional<Attributes>;

Found NoFields(Shapes operands, const Extents&) {
  if (operands.size() == 2 && !(operands[0] == operands[1])) {
    return std::nullopt;
  }
  return Attributes();
}

Found Transposed(Shapes operands, const Extents&) {
  if (operands[0].rank() != 2) return std::nullopt;
  return TransposeAttrs{.permutation = {1, 0}};
}

template <Combiner kCombiner, int kAxis>
Found Reduced(Shapes operands, const Extents&) {
  if (operands[0].rank() <= kAxis) return std::nullopt;
  return ReduceAttrs{.combiner = kCombiner, .axes = {kAxis}};
}

// A vector repeated along a new dim of the other letter's extent, before its
// own (kAxis 1) or behind it.
template <int kAxis>
Found Repeated(Shapes operands, const Extents& extents) {
  if (operands[0].rank() != 1) return std::nullopt;
  const Dim own = operands[0][0];
  Dim other;
  if (own == Dim(extents.a)) {
    other = extents.b;
  } else if (own == Dim(extents.b)) {
    other = extents.a;
  } else {
    return std::nullopt;
  }
  return BroadcastAttrs{
      .shape = kAxis == 1 ? Dims{other, own} : Dims{own, other},
      .axes = {kAxis}};
}

Found Multiplied(Shapes operands, const Extents&) {
  const Shape& a = operands[0];
  const Shape& b = operands[1];
  if (a.rank() == 0 || b.rank() == 0 || a.rank() + b.rank() > 4 ||
      !(a[a.rank() - 1] == b[0])) {
    return std::nullopt;
  }
  return DotGeneralAttrs{.contract = {.lhs = {a.rank() - 1}, .rhs = {0}}};
}

template <int kAxis>
Found Joined(Shapes operands, const Extents&) {
  const Shape& a = operands[0];
  const Shape& b = operands[1];
  if (a.rank() <= kAxis || a.rank() != b.rank()) return std::nullopt;
  for (int i = 0; i < a.rank(); ++i) {
    if (i != kAxis && !(a[i] == b[i])) return std::nullopt;
  }
  return AxisAttrs{.axis = kAxis};
}

// All but the first along an axis.
template <int kAxis>
Found Tail(Shapes operands, const Extents&) {
  const Shape& x = operands[0];
  if (x.rank() <= kAxis || x[kAxis].constant() < 2) return std::nullopt;
  SliceAttrs attrs{.limits = x.dims()};
  attrs.starts.assign(x.rank(), Dim(0));
  attrs.strides.assign(x.rank(), 1);
  attrs.starts[kAxis] = 1;
  return attrs;
}

// A half along an axis of even extent.
template <int kAxis, bool kSecond>
Found Half(Shapes operands, const Extents&) {
  const Shape& x = operands[0];
  if (x.rank() <= kAxis) return std::nullopt;
  const int64_t extent = x[kAxis].constant();
  if (extent % 2 != 0) return std::nullopt;
  SliceAttrs attrs{.limits = x.dims()};
  attrs.starts.assign(x.rank(), Dim(0));
  attrs.strides.assign(x.rank(), 1);
  (kSecond ? attrs.starts : attrs.limits)[kAxis] = Dim(extent / 2);
  return attrs;
}

template <int kAxis>
Found Reversed(Shapes operands, const Extents&) {
  if (operands[0].rank() <= kAxis) return std::nullopt;
  return AxesAttrs{.axes = {kAxis}};
}

Found Flattened(Shapes operands, const Extents&) {
  if (operands[0].rank() != 2) return std::nullopt;
  return ReshapeAttrs{.shape = {operands[0].ElementCount()}};
}

constexpr FindOperator kOperators[] = {
    {"add", Op::kAdd, 2, false, NoFields},
    {"mul", Op::kMul, 2, false, NoFields},
    {"transpose", Op::kTranspose, 1, false, Transposed},
    {"dot", Op::kDotGeneral, 2, false, Multiplied},
    {"sum(0)", Op::kReduce, 1, false, Reduced<Combiner::kSum, 0>},
    {"sum(1)", Op::kReduce, 1, false, Reduced<Combiner::kSum, 1>},
    {"rows", Op::kBroadcast, 1, false, Repeated<1>},
    {"columns", Op::kBroadcast, 1, false, Repeated<0>},
    {"exp", Op::kExp, 1, true, NoFields},
    {"neg", Op::kNeg, 1, false, NoFields},
    {"sub", Op::kSub, 2, false, NoFields},
    {"max", Op::kMax, 2, false, NoFields},
    {"concat(0)", Op::kConcat, 2, false, Joined<0>},
    {"concat(1)", Op::kConcat, 2, false, Joined<1>},
    {"tail(0)", Op::kSlice, 1, false, Tail<0>},
    {"tail(1)", Op::kSlice, 1, false, Tail<1>},
    {"reverse(0)", Op::kReverse, 1, false, Reversed<0>},
    {"max(0)", Op::kReduce, 1, false, Reduced<Combiner::kMax, 0>},
    {"flatten", Op::kReshape, 1, false, Flattened},
    {"sin", Op::kSin, 1, true, NoFields},
    {"first(0)", Op::kSlice, 1, false, Half<0, false>},
    {"second(0)", Op::kSlice, 1, false, Half<0, true>},
    {"first(1)", Op::kSlice, 1, false, Half<1, false>},
    {"second(1)", Op::kSlice, 1, false, Half<1, true>},
};

Shape Matrix(const Extents& extents) { return Shape({extents.a, extents.b}); }
Shape Turned(const Extents& extents) { return Shape({extents.b, extents.a}); }
Shape Vector(const Extents& extents) { return Shape({Dim(extents.b)}); }

constexpr FindInput kInputs[] = {
    {"x", Matrix}, {"y", Matrix}, {"w", Turned}, {"v", Vector}};

}  // namespace

std::span<const FindOperator> FindOperators() { return kOperators; }
std::span<const FindInput> FindInputs() { return kInputs; }

}  // namespace encore::opt
