// GraphBuilder's sources and elementwise ops: numbers, broadcasting.
#include <algorithm>
#include <cmath>

#include "encore/ir/build/builder.h"
#include "encore/ir/support/strings.h"

namespace encore {

namespace {

// Whether a dim is known only when the graph runs.
bool IsAtRunTime(const Graph& graph, const Shape& shape) {
  return std::ranges::any_of(shape.dims(), [&](const Dim& dim) {
    const auto symbol = dim.symbol();
    return symbol && graph.symbols()[*symbol].at_run_time;
  });
}

}  // namespace

std::optional<Shape> BroadcastShape(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<Dim> dims(rank);
  for (int i = 1; i <= rank; ++i) {
    const Dim one = 1;
    const Dim& x = i <= a.rank() ? a[a.rank() - i] : one;
    const Dim& y = i <= b.rank() ? b[b.rank() - i] : one;
    if (x != y && x != one && y != one) return std::nullopt;
    dims[rank - i] = x == one ? y : x;
  }
  return Shape(std::move(dims));
}

// --- Sources.

Value GraphBuilder::Constant(Literal literal) {
  return Node1(Op::kConstant, {}, ConstantAttrs{std::move(literal)});
}

Value GraphBuilder::Scalar(DType dtype, double number) {
  if (!IsFloat(dtype)) {
    if (number == std::floor(number) && std::abs(number) < 9.2e18) {
      return Scalar(dtype, static_cast<int64_t>(number));
    }
    return Fail(InvalidArgumentError(
        StrCat("the number ", number, " cannot be represented in ", dtype)));
  }
  Literal literal(dtype, {});
  literal.SetDouble(0, number);
  return Constant(std::move(literal));
}

Value GraphBuilder::Scalar(DType dtype, int64_t number) {
  if (IsFloat(dtype)) return Scalar(dtype, static_cast<double>(number));
  if (IsString(dtype)) {
    return Fail(InvalidArgumentError(
        StrCat("the number ", number, " cannot be represented in ", dtype)));
  }
  Literal literal(dtype, {});
  literal.SetInt(0, number);
  if (literal.AsInt(0) != number || (number < 0 && !IsSigned(dtype))) {
    return Fail(InvalidArgumentError(
        StrCat("the number ", number, " cannot be represented in ", dtype)));
  }
  return Constant(std::move(literal));
}

Value GraphBuilder::Iota(DType dtype, Shape shape, int64_t axis) {
  const int64_t from_start = axis < 0 ? axis + shape.rank() : axis;
  return Node1(Op::kIota, {}, IotaAttrs{dtype, shape.dims(), from_start});
}

Value GraphBuilder::DimValues(Dims dims) {
  return Node1(Op::kDimValues, {}, DimValuesAttrs{std::move(dims)});
}

Value GraphBuilder::DefineSymbols(Value values, Dims dims,
                                  std::string message) {
  return Node1(Op::kDefineSymbols, {values},
               DefineSymbolsAttrs{std::move(dims), std::move(message)});
}

Value GraphBuilder::Assert(Value x, Value condition, std::string message) {
  return Node1(Op::kAssertion, {x, Cast(condition, DType::kI64)},
               AssertionAttrs{std::move(message)});
}

// --- Elementwise.

Value GraphBuilder::Resolve(const Operand& operand, DType dtype) {
  if (const Value* value = std::get_if<Value>(&operand.content_)) return *value;
  if (!status_.ok()) return {};
  if (const double* number = std::get_if<double>(&operand.content_)) {
    return Scalar(dtype, *number);
  }
  return Scalar(dtype, std::get<int64_t>(operand.content_));
}

bool GraphBuilder::BroadcastTogether(std::span<Value> values) {
  Shape common;
  for (const Value& value : values) {
    if (!value.valid()) return false;
    const auto wider = BroadcastShape(common, value.shape());
    if (!wider) {
      const std::string shapes =
          StrCat("shapes ", common.ToString(graph_.symbols()), " and ",
                 value.shape().ToString(graph_.symbols()));
      const bool open =
          IsAtRunTime(graph_, common) || IsAtRunTime(graph_, value.shape());
      Fail(open ? UnimplementedError(StrCat(shapes,
                                            " must be known when the graph is "
                                            "built to broadcast together"))
                : InvalidArgumentError(
                      StrCat(shapes, " do not broadcast together")));
      return false;
    }
    common = *wider;
  }
  for (Value& value : values) value = BroadcastTo(value, common);
  return true;
}

Value GraphBuilder::Binary(Op op, Operand a, Operand b, Attributes attrs) {
  const Value* left = std::get_if<Value>(&a.content_);
  const Value* right = std::get_if<Value>(&b.content_);
  if (left == nullptr && right == nullptr) {
    return Fail(
        InvalidArgumentError(StrCat(op, " of two numbers, expected a value")));
  }
  const DType dtype = (left != nullptr ? left : right)->dtype();
  Value values[] = {Resolve(a, dtype), Resolve(b, dtype)};
  if (!BroadcastTogether(values)) return {};
  return Node1(op, {values[0], values[1]}, std::move(attrs));
}

Value GraphBuilder::Compare(Operand a, Operand b, Comparison direction) {
  return Binary(Op::kCompare, a, b, CompareAttrs{direction});
}

Value GraphBuilder::Select(Value condition, Operand a, Operand b) {
  const Value* left = std::get_if<Value>(&a.content_);
  const Value* right = std::get_if<Value>(&b.content_);
  if (left == nullptr && right == nullptr) {
    return Fail(
        InvalidArgumentError("select between two numbers, expected a value"));
  }
  const DType dtype = (left != nullptr ? left : right)->dtype();
  Value values[] = {condition, Resolve(a, dtype), Resolve(b, dtype)};
  if (!BroadcastTogether(values)) return {};
  return Node1(Op::kSelect, {values[0], values[1], values[2]});
}

Value GraphBuilder::Cast(Value x, DType dtype, bool saturate) {
  return Node1(Op::kCast, {x}, CastAttrs{dtype, saturate});
}

Value GraphBuilder::Bitcast(Value x, DType dtype) {
  return Node1(Op::kBitcast, {x}, ElementTypeAttrs{dtype});
}

Value GraphBuilder::LeakyRelu(Value x, double alpha) {
  return Node1(Op::kLeakyRelu, {x}, AlphaAttrs{alpha});
}

Value GraphBuilder::Elu(Value x, double alpha) {
  return Node1(Op::kElu, {x}, AlphaAttrs{alpha});
}

Value GraphBuilder::Celu(Value x, double alpha) {
  return Node1(Op::kCelu, {x}, AlphaAttrs{alpha});
}

Value GraphBuilder::Selu(Value x, double alpha, double beta) {
  return Node1(Op::kSelu, {x}, AlphaBetaAttrs{alpha, beta});
}

Value GraphBuilder::Gelu(Value x, bool tanh) {
  return Node1(Op::kGelu, {x}, GeluAttrs{tanh});
}

Value GraphBuilder::HardSigmoid(Value x, double alpha, double beta) {
  return Node1(Op::kHardSigmoid, {x}, AlphaBetaAttrs{alpha, beta});
}

Value GraphBuilder::ThresholdedRelu(Value x, double alpha) {
  return Node1(Op::kThresholdedRelu, {x}, AlphaAttrs{alpha});
}

Value GraphBuilder::Clamp(Value x, Operand low, Operand high) {
  return Node1(Op::kClamp,
               {x, Resolve(low, x.dtype()), Resolve(high, x.dtype())});
}

}  // namespace encore
