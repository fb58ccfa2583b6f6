#include "encore/ir/transform/grad_rules.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace encore {
namespace {

using Values = std::vector<Value>;

// dy * f, for y = f'(x) of one operand; an invalid factor is 0.
std::optional<Value> UnaryFactor(GraphBuilder& g, Op op, Value x, Value y) {
  switch (op) {
    case Op::kAbs:
      return g.Sign(x);
    case Op::kNeg:
      return g.Full(y.shape(), g.Scalar(y.dtype(), -1.0));
    case Op::kExp:
      return y;
    case Op::kExpm1:
      return g.Add(y, 1.0);
    case Op::kLog:
      return g.Reciprocal(x);
    case Op::kLog1p:
      return g.Reciprocal(g.Add(x, 1.0));
    case Op::kSqrt:
      return g.Reciprocal(g.Mul(y, 2.0));
    case Op::kRsqrt:
      return g.Mul(g.Mul(y, g.Mul(y, y)), -0.5);
    case Op::kReciprocal:
      return g.Neg(g.Mul(y, y));
    case Op::kSin:
      return g.Cos(x);
    case Op::kCos:
      return g.Neg(g.Sin(x));
    case Op::kTan:
      return g.Add(g.Mul(y, y), 1.0);
    case Op::kAsin:
      return g.Rsqrt(g.Sub(1.0, g.Mul(x, x)));
    case Op::kAcos:
      return g.Neg(g.Rsqrt(g.Sub(1.0, g.Mul(x, x))));
    case Op::kAtan:
      return g.Reciprocal(g.Add(g.Mul(x, x), 1.0));
    case Op::kSinh:
      return g.Cosh(x);
    case Op::kCosh:
      return g.Sinh(x);
    case Op::kTanh:
      return g.Sub(1.0, g.Mul(y, y));
    case Op::kAsinh:
      return g.Rsqrt(g.Add(g.Mul(x, x), 1.0));
    case Op::kAcosh:
      return g.Rsqrt(g.Sub(g.Mul(x, x), 1.0));
    case Op::kAtanh:
      return g.Reciprocal(g.Sub(1.0, g.Mul(x, x)));
    case Op::kCbrt:
      return g.Reciprocal(g.Mul(g.Mul(y, y), 3.0));
    case Op::kErf:
      return g.Mul(g.Exp(g.Neg(g.Mul(x, x))), 2.0 * std::numbers::inv_sqrtpi);
    case Op::kLogistic:
      return g.Mul(y, g.Sub(1.0, y));
    case Op::kSign:
    case Op::kCeil:
    case Op::kFloor:
    case Op::kRound:
      return Value();
    default:
      return std::nullopt;
  }
}

Value ZerosLike(GraphBuilder& g, Value x) {
  return g.Full(x.shape(), g.Scalar(x.dtype(), 0.0));
}

// dy where the condition holds, else 0; and the other way round.
Values Choose(GraphBuilder& g, Value condition, Value dy) {
  const Value zeros = ZerosLike(g, dy);
  return {g.Select(condition, dy, zeros), g.Select(condition, zeros, dy)};
}

std::optional<Values> GradBinary(GraphBuilder& g, const GradNode& node) {
  const Value a = node.x[0], b = node.x[1], y = node.y, dy = node.dy;
  switch (node.op) {
    case Op::kAdd:
      return Values{dy, dy};
    case Op::kSub:
      return Values{dy, g.Neg(dy)};
    case Op::kMul:
      return Values{g.Mul(dy, b), g.Mul(dy, a)};
    case Op::kDiv:
      return Values{g.Div(dy, b), g.Neg(g.Div(g.Mul(dy, y), b))};
    case Op::kPow: {
      const Value by_base = g.Mul(dy, g.Mul(b, g.Pow(a, g.Sub(b, 1.0))));
      // 0 to a power that varies: no slope.
      const Value positive = g.Compare(a, 0.0, Comparison::kGt);
      const Value base = g.Select(positive, a, g.Add(ZerosLike(g, a), 1.0));
      return Values{by_base, g.Mul(dy, g.Mul(y, g.Log(base)))};
    }
    case Op::kMax:
      return Choose(g, g.Compare(a, b, Comparison::kGe), dy);
    case Op::kMin:
      return Choose(g, g.Compare(a, b, Comparison::kLe), dy);
    case Op::kAtan2: {
      const Value square = g.Add(g.Mul(a, a), g.Mul(b, b));
      return Values{g.Div(g.Mul(dy, b), square),
                    g.Neg(g.Div(g.Mul(dy, a), square))};
    }
    default:
      return std::nullopt;
  }
}

// `value` summed over all axes but those that operand dims became and kept.
Value SumToOperand(GraphBuilder& g, Value value, const Shape& operand,
                   const Ints& axes) {
  Ints summed;
  for (int d = 0; d < value.rank(); ++d) {
    const auto found = std::find(axes.begin(), axes.end(), d);
    const bool repeated =
        found == axes.end() ||
        operand[static_cast<int>(found - axes.begin())] != value.shape()[d];
    if (repeated) summed.push_back(d);
  }
  return g.Reshape(g.Sum(value, summed), operand);
}

// A reduced value back in the shape that it was reduced from.
Value SpreadBack(GraphBuilder& g, Value value, const Shape& shape,
                 const Ints& axes) {
  Ints kept;
  for (int d = 0; d < shape.rank(); ++d) {
    if (!std::ranges::binary_search(axes, d)) kept.push_back(d);
  }
  return g.Broadcast(value, shape, std::move(kept));
}

std::optional<Values> GradReduce(GraphBuilder& g, const GradNode& node) {
  const ReduceAttrs& attrs = node.attrs<ReduceAttrs>();
  const Value x = node.x[0];
  const auto spread = [&](Value value) {
    return SpreadBack(g, value, x.shape(), attrs.axes);
  };
  if (attrs.combiner == Combiner::kSum) return Values{spread(node.dy)};
  if (attrs.combiner != Combiner::kMax && attrs.combiner != Combiner::kMin) {
    return std::nullopt;
  }
  const Value is_extreme =
      g.Cast(g.Compare(x, spread(node.y), Comparison::kEq), x.dtype());
  const Value count = g.Sum(is_extreme, attrs.axes);
  return Values{g.Mul(is_extreme, spread(g.Div(node.dy, count)))};
}

Ints Inverse(const Ints& permutation) {
  Ints inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    inverse[permutation[i]] = static_cast<int64_t>(i);
  }
  return inverse;
}

// What a slice leaves out has no influence.
Value GradSlice(GraphBuilder& g, const GradNode& node) {
  const SliceAttrs& attrs = node.attrs<SliceAttrs>();
  const Shape &whole = node.x[0].shape(), &part = node.y.shape();
  Dims high;
  Ints interior;
  for (int d = 0; d < whole.rank(); ++d) {
    const int64_t stride = attrs.strides[d];
    interior.push_back(stride - 1);
    // From the first element to the last one that is taken.
    const Dim reach = Max((part[d] - Dim(1)) * Dim(stride) + Dim(1), Dim(0));
    high.push_back(whole[d] - attrs.starts[d] - reach);
  }
  return g.Pad(node.dy, 0.0, attrs.starts, std::move(high),
               std::move(interior));
}

// Axes of an operand that are neither in `a` nor in `b`, ascending.
Ints OtherAxes(int rank, const Ints& a, const Ints& b) {
  Ints others;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::ranges::find(a, d) == a.end() &&
        std::ranges::find(b, d) == b.end()) {
      others.push_back(d);
    }
  }
  return others;
}

// By operand `one` of a product: dy times the other operand, contracted over
// what is free in the other. `first_free`: where that stands in y.
Value GradFactor(GraphBuilder& g, Value dy, Value other, const Shape& one,
                 const Ints& one_batch, const Ints& other_batch,
                 const Ints& one_contract, const Ints& other_contract,
                 int64_t first_free) {
  const Ints free = OtherAxes(other.rank(), other_batch, other_contract);
  AxisPairs contract, batch;
  for (size_t i = 0; i < free.size(); ++i) {
    contract.lhs.push_back(first_free + static_cast<int64_t>(i));
    contract.rhs.push_back(free[i]);
  }
  for (size_t i = 0; i < one_batch.size(); ++i) {
    batch.lhs.push_back(static_cast<int64_t>(i));
    batch.rhs.push_back(other_batch[i]);
  }
  const Value product =
      g.DotGeneral(dy, other, std::move(contract), std::move(batch));
  // Its dims: the batch, what is free in `one`, and the contracted dims in the
  // order that `other` has them.
  Ints places = one_batch;
  const Ints one_free = OtherAxes(one.rank(), one_batch, one_contract);
  places.insert(places.end(), one_free.begin(), one_free.end());
  for (const int64_t axis : OtherAxes(other.rank(), other_batch, free)) {
    const auto found = std::ranges::find(other_contract, axis);
    places.push_back(one_contract[found - other_contract.begin()]);
  }
  return g.Transpose(product, Inverse(places));
}

}  // namespace

std::optional<std::vector<Value>> GradElementwise(GraphBuilder& g,
                                                  const GradNode& node) {
  if (node.op == Op::kSelect) {
    Values chosen = Choose(g, node.x[0], node.dy);
    return Values{Value(), chosen[0], chosen[1]};
  }
  if (node.op == Op::kBitcast) return Values{Value()};
  if (node.op == Op::kCast) {
    const DType from = node.x[0].dtype();
    return Values{IsFloat(from) ? g.Cast(node.dy, from) : Value()};
  }
  if (node.x.size() == 2) return GradBinary(g, node);
  if (node.x.size() != 1) return std::nullopt;
  const auto factor = UnaryFactor(g, node.op, node.x[0], node.y);
  if (!factor) return std::nullopt;
  return Values{factor->valid() ? g.Mul(node.dy, *factor) : Value()};
}

std::optional<std::vector<Value>> GradMovement(GraphBuilder& g,
                                               const GradNode& node) {
  const Value dy = node.dy;
  switch (node.op) {
    case Op::kBroadcast:
      return Values{SumToOperand(g, dy, node.x[0].shape(),
                                 node.attrs<BroadcastAttrs>().axes)};
    case Op::kReshape:
      return Values{g.Reshape(dy, node.x[0].shape())};
    case Op::kTranspose:
      return Values{
          g.Transpose(dy, Inverse(node.attrs<TransposeAttrs>().permutation))};
    case Op::kReverse:
      return Values{g.Reverse(dy, node.attrs<AxesAttrs>().axes)};
    case Op::kSlice:
      return Values{GradSlice(g, node)};
    case Op::kConcat: {
      const int64_t axis = node.attrs<AxisAttrs>().axis;
      Values parts;
      Dim at = 0;
      for (const Value& x : node.x) {
        const Dim end = at + x.shape()[static_cast<int>(axis)];
        parts.push_back(g.SliceAxis(dy, axis, at, end));
        at = end;
      }
      return parts;
    }
    case Op::kReduce:
      return GradReduce(g, node);
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<Value>> GradContraction(GraphBuilder& g,
                                                  const GradNode& node) {
  if (node.op != Op::kDotGeneral) return std::nullopt;
  const auto& [contract, batch] = node.attrs<DotGeneralAttrs>();
  const Value a = node.x[0], b = node.x[1];
  const auto batches = static_cast<int64_t>(batch.lhs.size());
  const auto a_free =
      static_cast<int64_t>(OtherAxes(a.rank(), batch.lhs, contract.lhs).size());
  return Values{GradFactor(g, node.dy, b, a.shape(), batch.lhs, batch.rhs,
                           contract.lhs, contract.rhs, batches + a_free),
                GradFactor(g, node.dy, a, b.shape(), batch.rhs, batch.lhs,
                           contract.rhs, contract.lhs, batches)};
}

}  // namespace encore
