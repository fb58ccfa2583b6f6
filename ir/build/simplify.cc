#include "encore/ir/build/simplify.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "encore/ir/build/simplify_host.h"

namespace encore {
namespace {

constexpr int64_t kMaxScannedElements = 64;

// A constant all of whose elements are one number.
struct Splat {
  DType dtype;
  double number;
  int64_t integer;

  bool IsInt(int64_t value) const {
    return IsFloat(dtype) ? number == static_cast<double>(value)
                          : integer == value;
  }
  bool IsNegativeZero() const { return number == 0 && std::signbit(number); }
};

std::optional<Splat> SplatOf(const Graph& graph, ValueId value) {
  while (graph.op(graph.producer(value)) == Op::kBroadcast) {
    value = graph.operand(graph.producer(value), 0);
  }
  const Literal* literal = graph.constant(value);
  if (literal == nullptr || IsString(literal->dtype())) return std::nullopt;
  const int64_t count = literal->element_count();
  if (count == 0 || count > kMaxScannedElements) return std::nullopt;
  const Splat splat{literal->dtype(), literal->AsDouble(0), literal->AsInt(0)};
  for (int64_t i = 1; i < count; ++i) {
    const bool same = IsFloat(splat.dtype)
                          ? std::bit_cast<uint64_t>(literal->AsDouble(i)) ==
                                std::bit_cast<uint64_t>(splat.number)
                          : literal->AsInt(i) == splat.integer;
    if (!same) return std::nullopt;
  }
  return splat;
}

// The view of one pending node that the rewrites use.
class Rewriter {
 public:
  Rewriter(const Graph& graph, const PendingNode& node, const TensorType& type)
      : graph_(graph), node_(node), type_(type) {}

  Simplified Movement() const;
  Simplified Composition() const;
  Simplified Arithmetic() const;
  Simplified Involution() const;
  Simplified Choice() const;

 private:
  ValueId operand(int i = 0) const { return node_.operands[i]; }
  const Shape& shape(int i = 0) const { return graph_.shape(operand(i)); }
  template <typename Attrs>
  const Attrs& attrs() const {
    return node_.attributes.Get<Attrs>();
  }
  // The node that makes operand 0.
  NodeId inner() const { return graph_.producer(operand()); }
  Op inner_op() const { return graph_.op(inner()); }
  ValueId innermost() const { return graph_.operand(inner(), 0); }

  bool MovesNothing() const;
  Simplified OfCast() const;
  // Whether x op splat, for x of the result's type, is x.
  bool IsNeutralRight(const Splat& splat) const;

  const Graph& graph_;
  const PendingNode& node_;
  const TensorType& type_;
};

bool AllZero(std::span<const Dim> dims) {
  return std::all_of(dims.begin(), dims.end(),
                     [](const Dim& dim) { return dim == Dim(0); });
}

bool IsAscendingRange(std::span<const int64_t> axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

bool Rewriter::MovesNothing() const {
  switch (node_.op) {
    case Op::kReshape:
    case Op::kDynamicSlice:
      return shape() == type_.shape;
    case Op::kBroadcast:
      return shape() == type_.shape;
    case Op::kTranspose:
      return IsAscendingRange(attrs<TransposeAttrs>().permutation);
    case Op::kSlice: {
      const SliceAttrs& slice = attrs<SliceAttrs>();
      return AllZero(slice.starts) && slice.limits == shape().dims() &&
             shape() == type_.shape;
    }
    case Op::kPad: {
      const PadAttrs& pad = attrs<PadAttrs>();
      return AllZero(pad.low) && AllZero(pad.high) &&
             std::all_of(pad.interior.begin(), pad.interior.end(),
                         [](int64_t n) { return n == 0; });
    }
    case Op::kReverse: {
      const Ints& axes = attrs<AxesAttrs>().axes;
      return std::all_of(axes.begin(), axes.end(), [&](int64_t axis) {
        return shape()[static_cast<int>(axis)] == Dim(1);
      });
    }
    case Op::kConcat:
      return node_.operands.size() == 1;
    case Op::kReduce:
      return attrs<ReduceAttrs>().axes.empty();
    case Op::kMean:
      return attrs<AxesAttrs>().axes.empty();
    case Op::kCast:
    case Op::kBitcast:
      return graph_.dtype(operand()) == type_.dtype;
    case Op::kAssertion: {
      const Literal* known = graph_.constant(operand(1));
      return known != nullptr && known->AsInt(0) > 0;
    }
    case Op::kDefineSymbols: {
      // Constants that are what they are to be.
      const Shape dims(attrs<DefineSymbolsAttrs>().dims);
      const Literal* known = graph_.constant(operand());
      return known != nullptr && dims.is_constant() &&
             Literal::Vector<int64_t>(dims.ConstantDims()) ==
                 known->Reshaped({known->element_count()});
    }
    default:
      return false;
  }
}

Simplified Rewriter::Movement() const {
  if (!node_.operands.empty() && MovesNothing()) return operand();
  if (node_.op == Op::kDynamicUpdateSlice && shape(1) == shape()) {
    return operand(1);
  }
  if (node_.op == Op::kConcat) {
    // Operands without elements along the axis add nothing.
    const int axis = static_cast<int>(attrs<AxisAttrs>().axis);
    PendingNode kept{node_.op, {}, node_.attributes};
    for (const ValueId value : node_.operands) {
      if (graph_.shape(value)[axis] != Dim(0)) kept.operands.push_back(value);
    }
    if (!kept.operands.empty() &&
        kept.operands.size() < node_.operands.size()) {
      return kept;
    }
  }
  if (node_.op == Op::kReshape && type_.shape.is_constant()) {
    const Literal* literal = graph_.constant(operand());
    if (literal != nullptr && !IsString(literal->dtype())) {
      return PendingNode{
          Op::kConstant,
          {},
          ConstantAttrs{literal->Reshaped(type_.shape.ConstantDims())}};
    }
  }
  if (node_.op == Op::kDimValues) {
    const Shape dims(attrs<DimValuesAttrs>().dims);
    if (dims.is_constant()) {
      const std::vector<int64_t> values = dims.ConstantDims();
      return PendingNode{
          Op::kConstant,
          {},
          ConstantAttrs{Literal::Vector(std::span<const int64_t>(values))}};
    }
  }
  return {};
}

// Whether every value of `from` is one of `to`, and both are of a kind for
// which casts onward depend on the value only.
bool IsWidening(DType from, DType to) {
  if (IsFloat(from) && IsFloat(to)) {
    if (to == DType::kF64 || from == to) return true;
    if (to == DType::kF32) return BitWidth(from) <= 16;
    return BitWidth(from) <= 8 && BitWidth(to) == 16 && from != DType::kF8E8M0;
  }
  if (!IsInteger(from) || !IsInteger(to)) return false;
  if (IsSigned(from)) return IsSigned(to) && BitWidth(from) <= BitWidth(to);
  return IsUnsigned(to) ? BitWidth(from) <= BitWidth(to)
                        : BitWidth(from) < BitWidth(to);
}

Simplified Rewriter::OfCast() const {
  const ValueId source = innermost();
  if (!IsWidening(graph_.dtype(source), graph_.dtype(operand()))) return {};
  return PendingNode{Op::kCast, {source}, node_.attributes};
}

Simplified Rewriter::Composition() const {
  if (node_.operands.empty() || inner_op() != node_.op) return {};
  switch (node_.op) {
    case Op::kReshape:
    case Op::kBitcast:
      return PendingNode{node_.op, {innermost()}, node_.attributes};
    case Op::kCast:
      return OfCast();
    case Op::kTranspose: {
      const Ints& first = graph_.attrs<TransposeAttrs>(inner()).permutation;
      Ints permutation;
      for (const int64_t axis : attrs<TransposeAttrs>().permutation) {
        permutation.push_back(first[axis]);
      }
      return PendingNode{node_.op, {innermost()}, TransposeAttrs{permutation}};
    }
    case Op::kBroadcast: {
      BroadcastAttrs merged = attrs<BroadcastAttrs>();
      Ints axes;
      for (const int64_t axis : graph_.attrs<BroadcastAttrs>(inner()).axes) {
        axes.push_back(merged.axes[axis]);
      }
      merged.axes = std::move(axes);
      return PendingNode{node_.op, {innermost()}, std::move(merged)};
    }
    case Op::kReverse:
      if (attrs<AxesAttrs>() == graph_.attrs<AxesAttrs>(inner())) {
        return innermost();
      }
      return {};
    default:
      return {};
  }
}

Simplified Rewriter::Involution() const {
  if (node_.operands.empty() || inner_op() != node_.op) return {};
  switch (node_.op) {
    case Op::kNeg:
    case Op::kNot:
      return innermost();
    case Op::kAbs:
    case Op::kSign:
    case Op::kCeil:
    case Op::kFloor:
    case Op::kRound:
    case Op::kRelu:
      return operand();
    default:
      return {};
  }
}

bool Rewriter::IsNeutralRight(const Splat& splat) const {
  const bool floating = IsFloat(type_.dtype);
  switch (node_.op) {
    case Op::kAdd:
      return floating ? splat.IsNegativeZero() : splat.IsInt(0);
    case Op::kSub:
      return splat.IsInt(0) && !(floating && splat.IsNegativeZero());
    case Op::kMul:
    case Op::kDiv:
    case Op::kPow:
      return splat.IsInt(1);
    case Op::kOr:
    case Op::kXor:
    case Op::kShiftLeft:
    case Op::kShiftRight:
      return splat.IsInt(0);
    case Op::kAnd:
      if (type_.dtype == DType::kBool) return splat.IsInt(1);
      if (IsSigned(type_.dtype)) return splat.IsInt(-1);
      return static_cast<uint64_t>(splat.integer) ==
             ~uint64_t{0} >> (64 - BitWidth(type_.dtype));
    default:
      return false;
  }
}

Simplified Rewriter::Arithmetic() const {
  if (node_.operands.size() != 2 || !Info(node_.op).has(kElementwise)) {
    return {};
  }
  const auto left = SplatOf(graph_, operand(0));
  const auto right = SplatOf(graph_, operand(1));
  const bool commutes = Info(node_.op).has(kCommutative);
  if (right && IsNeutralRight(*right)) return operand(0);
  if (left && commutes && IsNeutralRight(*left)) return operand(1);
  if (node_.op == Op::kMul && IsInteger(type_.dtype)) {
    if (left && left->IsInt(0)) return operand(0);
    if (right && right->IsInt(0)) return operand(1);
  }
  return {};
}

Simplified Rewriter::Choice() const {
  switch (node_.op) {
    case Op::kMax:
    case Op::kMin:
    case Op::kAnd:
    case Op::kOr:
      if (operand(0) == operand(1)) return operand(0);
      return {};
    case Op::kSelect: {
      if (operand(1) == operand(2)) return operand(1);
      const auto condition = SplatOf(graph_, operand(0));
      if (condition) return operand(condition->IsInt(0) ? 2 : 1);
      return {};
    }
    default:
      return {};
  }
}

}  // namespace

Simplified SimplifyNode(const Graph& graph, const PendingNode& node,
                        const TensorType& type) {
  if (Info(node.op).has(kNonFlatValues))
    return SimplifyHostNode(graph, node, type);
  const Rewriter rewriter(graph, node, type);
  constexpr Simplified (Rewriter::* kRewrites[])()
      const = {&Rewriter::Movement, &Rewriter::Composition,
               &Rewriter::Involution, &Rewriter::Choice, &Rewriter::Arithmetic};
  for (const auto rewrite : kRewrites) {
    Simplified better = (rewriter.*rewrite)();
    if (!std::holds_alternative<std::monostate>(better)) return better;
  }
  return {};
}

}  // namespace encore
