#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

template <Op kOp>
Status Unary(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  return context.Output(0, context.Emit(kOp, {context.Input(0)}));
}

// Of integers in f32, and cut off.
Status Erf(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  if (!IsInteger(x.dtype())) return context.Output(0, g.Erf(x));
  return context.Output(0, g.Cast(g.Erf(g.Cast(x, DType::kF32)), x.dtype()));
}

// The two inputs in one shape. Models before opset 7 line the second up at an
// axis.
StatusOr<std::vector<Value>> Operands(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  Value a = context.Input(0), b = context.Input(1);
  if (context.attributes().Has("encore.axis")) {
    ENCORE_ASSIGN_OR_RETURN(const int64_t raw,
                            context.attributes().Int("encore.axis", 0));
    const int64_t rank = context.rank(a);
    ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                            context.Axis(raw, rank, "attribute axis"));
    Dims dims = context.shape(b).dims();
    while (static_cast<int64_t>(dims.size()) + axis < rank) dims.push_back(1);
    b = context.Reshape(b, std::move(dims));
  }
  return BroadcastAll(context, {a, b});
}

template <Op kOp>
Status Binary(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> operands, Operands(context));
  return context.Output(0, context.Emit(kOp, operands));
}

template <Comparison kDirection>
Status Compare(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> operands, Operands(context));
  if (kDirection == Comparison::kEq && IsString(operands[0].dtype())) {
    return context.Output(0, context.Emit(Op::kStringEqual, operands));
  }
  return context.Output(
      0, context.Emit(Op::kCompare, operands, CompareAttrs{kDirection}));
}

// Sum, Max, Min and Mean of any number of operands, in pairs from the left.
StatusOr<Value> Combine(NodeContext& context, Op op) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, INT16_MAX));
  const std::vector<Value> inputs = context.Inputs();
  Value result = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    result = context.Emit(op, BroadcastAll(context, {result, inputs[i]}));
  }
  return result;
}

template <Op kOp>
Status Variadic(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const Value result, Combine(context, kOp));
  return context.Output(0, result);
}

Status Mean(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const Value sum, Combine(context, Op::kAdd));
  const Value count =
      context.Fill(context.Scalar(context.dtype(sum), context.input_count()),
                   context.shape(sum));
  return context.Output(0, context.Emit(Op::kDiv, {sum, count}));
}

// The exponent may be of another type than the base, whose type the result has.
Status Pow(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  Value base = context.Input(0), exponent = context.Input(1);
  const DType result = context.dtype(base);
  if (context.attributes().Has("encore.axis") ||
      context.dtype(exponent) == result) {
    return Binary<Op::kPow>(context);
  }
  const DType compute = IsFloat(context.dtype(exponent)) && !IsFloat(result)
                            ? context.dtype(exponent)
                            : result;
  const auto cast = [&](Value value, DType to) {
    return context.dtype(value) == to ? value
                                      : context.builder().Cast(value, to);
  };
  const Value power = context.Emit(
      Op::kPow,
      BroadcastAll(context, {cast(base, compute), cast(exponent, compute)}));
  return context.Output(0, cast(power, result));
}

// fmod = 0 takes the sign of the divisor, of zeros too, fmod = 1 that of the
// dividend.
Status Mod(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const bool fmod,
                          context.attributes().Bool("fmod", false));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> operands, Operands(context));
  const Value remainder = context.Emit(Op::kRem, operands);
  if (fmod || IsUnsigned(context.dtype(remainder))) {
    return context.Output(0, remainder);
  }
  const Value zero = context.Fill(context.Scalar(context.dtype(remainder), 0),
                                  context.shape(remainder));
  const auto negative = [&](Value value) {
    return context.Emit(Op::kCompare, {value, zero},
                        CompareAttrs{Comparison::kLt});
  };
  const Value wrong_sign = context.Emit(
      Op::kAnd,
      {context.Emit(Op::kCompare, {remainder, zero},
                    CompareAttrs{Comparison::kNe}),
       context.Emit(Op::kXor, {negative(remainder), negative(operands[1])})});
  const Value shifted = context.Emit(Op::kAdd, {remainder, operands[1]});
  Value result = context.Emit(Op::kSelect, {wrong_sign, shifted, remainder});
  if (IsFloat(result.dtype())) {
    GraphBuilder& g = context.builder();
    const Value signed_zero =
        g.Select(negative(operands[1]), context.Scalar(result.dtype(), -0.0),
                 context.Scalar(result.dtype(), 0.0));
    result = g.Select(g.Compare(remainder, zero, Comparison::kEq), signed_zero,
                      result);
  }
  return context.Output(0, result);
}

Status BitShift(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const std::string direction,
                          context.attributes().String("direction", ""));
  if (direction != "LEFT" && direction != "RIGHT") {
    return NodeContext::Error(StrCat("attribute direction is ",
                                     Quote(direction),
                                     ", expected LEFT or RIGHT"));
  }
  return direction == "LEFT" ? Binary<Op::kShiftLeft>(context)
                             : Binary<Op::kShiftRight>(context);
}

Status IsInf(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const bool positive,
                          context.attributes().Bool("detect_positive", true));
  ENCORE_ASSIGN_OR_RETURN(const bool negative,
                          context.attributes().Bool("detect_negative", true));
  const Value x = context.Input(0);
  const Value infinite = context.Emit(Op::kIsInf, {x});
  if (positive && negative) return context.Output(0, infinite);
  const Value zero =
      context.Fill(context.Scalar(context.dtype(x), 0), context.shape(x));
  const Comparison side = positive ? Comparison::kGt : Comparison::kLt;
  Value wanted = context.Emit(Op::kCompare, {x, zero}, CompareAttrs{side});
  if (!positive && !negative) {
    wanted = context.Emit(Op::kAnd, {wanted, context.Emit(Op::kNot, {wanted})});
  }
  return context.Output(0, context.Emit(Op::kAnd, {infinite, wanted}));
}

Status Where(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 3));
  return context.Output(
      0, context.Emit(Op::kSelect,
                      BroadcastAll(context, {context.Input(0), context.Input(1),
                                             context.Input(2)})));
}

// `saturate` says something of floats of 8 bits and less only.
CastAttrs CastTo(DType dtype, bool saturate) {
  return {dtype, saturate && IsFloat(dtype) && BitWidth(dtype) <= 8};
}

// Numbers as scales: the power of two above |x| or at it, below or at it, or
// nearest to it, as `round_mode` says; the least one of what is smaller, NaN of
// infinities.
Value ToScale(GraphBuilder& g, Value x, bool saturate,
              std::string_view round_mode) {
  constexpr DType kScale = DType::kF8E8M0;
  if (x.dtype() != DType::kF32) x = g.Cast(x, DType::kF32);
  const Value magnitude = g.Max(g.Abs(x), 0x1p-127);
  const Value finite =
      g.Select(g.Unary(Op::kIsInf, x),
               g.Scalar(DType::kF32, std::numeric_limits<double>::quiet_NaN()),
               magnitude);
  const bool down = round_mode == "down";
  if (round_mode == "nearest") return g.Cast(finite, kScale, saturate);
  // One step from the nearest one, where that is on the wrong side.
  const Value nearest =
      g.Cast(g.Cast(finite, kScale, /*saturate=*/true), DType::kF32);
  const Value wrong =
      g.Compare(nearest, finite, down ? Comparison::kGt : Comparison::kLt);
  return g.Cast(g.Select(wrong, g.Mul(nearest, down ? 0.5 : 2.0), nearest),
                kScale, saturate);
}

// `x` in another dtype, strings included.
Value Converted(NodeContext& context, Value x, DType to, bool saturate,
                std::string_view round_mode) {
  if (IsString(to) && IsString(x.dtype())) return x;
  if (IsString(to)) return context.Emit(Op::kStringFormat, {x});
  if (IsString(x.dtype())) {
    return context.Emit(Op::kStringParse, {x}, ElementTypeAttrs{to});
  }
  if (to == DType::kF8E8M0 && x.dtype() != to) {
    return ToScale(context.builder(), x, saturate, round_mode);
  }
  return context.Emit(Op::kCast, {x}, CastTo(to, saturate));
}

// The dtype that attribute `to` says.
StatusOr<DType> TargetOf(int64_t to) {
  if (to < 0 || to > INT32_MAX) {
    return NodeContext::Error(
        StrCat("attribute to is ", to, ", expected a TensorProto.DataType"));
  }
  const StatusOr<DType> dtype = DTypeOf(static_cast<int32_t>(to));
  if (!dtype.ok()) return Annotate(dtype.status(), "attribute to");
  return dtype;
}

Status Cast(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const int64_t to,
                          context.attributes().RequiredInt("to"));
  ENCORE_ASSIGN_OR_RETURN(const bool saturate,
                          context.attributes().Bool("saturate", true));
  ENCORE_ASSIGN_OR_RETURN(const DType dtype, TargetOf(to));
  ENCORE_ASSIGN_OR_RETURN(const std::string round_mode,
                          context.attributes().String("round_mode", "up"));
  return context.Output(
      0, Converted(context, context.Input(0), dtype, saturate, round_mode));
}

Status CastLike(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  ENCORE_ASSIGN_OR_RETURN(const bool saturate,
                          context.attributes().Bool("saturate", true));
  ENCORE_ASSIGN_OR_RETURN(const std::string round_mode,
                          context.attributes().String("round_mode", "up"));
  return context.Output(
      0, Converted(context, context.Input(0), context.dtype(context.Input(1)),
                   saturate, round_mode));
}

// A bool's bits are those of 0 and 1, and every other byte is true.
Status BitCast(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const int64_t number,
                          context.attributes().RequiredInt("to"));
  ENCORE_ASSIGN_OR_RETURN(const DType to, TargetOf(number));
  Value x = context.Input(0);
  const DType from = x.dtype();
  if (from == to) return context.Output(0, x);
  if (BitWidth(from) != BitWidth(to)) {
    return NodeContext::Error(
        StrCat("attribute to is ", to, ", which is not as wide as ", from));
  }
  GraphBuilder& g = context.builder();
  if (from == DType::kBool) x = g.Cast(x, DType::kU8);
  if (to == DType::kBool)
    return context.Output(0, g.Cast(g.Bitcast(x, DType::kU8), to));
  return context.Output(0, g.Bitcast(x, to));
}

Status Clip(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 3));
  Value x = context.Input(0);
  // First up to the lower bound: where the bounds cross, the upper one wins.
  const Op ops[] = {Op::kMax, Op::kMin};
  for (int i = 0; i < 2; ++i) {
    if (!context.HasInput(1 + i)) continue;
    Value bound = context.Input(1 + i);
    if (context.rank(bound) != 0) bound = context.Reshape(bound, {});
    // What was an attribute is f32.
    if (bound.dtype() != x.dtype()) {
      bound = context.builder().Cast(bound, x.dtype());
    }
    x = context.Emit(ops[i], {x, context.Fill(bound, context.shape(x))});
  }
  return context.Output(0, x);
}

// A value under another name.
Status Identity(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  const std::string_view name = context.node().inputs[0];
  const Bound* bound = context.scope().Find(name);
  // A weight stays one value under both names.
  if (bound->constant && !bound->is_weight) return context.Output(0, *bound);
  if (bound->dims) return context.Output(0, *bound);
  return context.Output(0, context.Input(0));
}

constexpr Converter kConverters[] = {
    {"Abs", Unary<Op::kAbs>, Op::kAbs},
    {"Acos", Unary<Op::kAcos>, Op::kAcos},
    {"Acosh", Unary<Op::kAcosh>, Op::kAcosh},
    {"Add", Binary<Op::kAdd>, Op::kAdd},
    {"And", Binary<Op::kAnd>, Op::kAnd},
    {"Asin", Unary<Op::kAsin>, Op::kAsin},
    {"Asinh", Unary<Op::kAsinh>, Op::kAsinh},
    {"Atan", Unary<Op::kAtan>, Op::kAtan},
    {"Atanh", Unary<Op::kAtanh>, Op::kAtanh},
    {"BitCast", BitCast, Op::kBitcast},
    {"BitShift", BitShift, Op::kShiftLeft},
    {"BitwiseAnd", Binary<Op::kAnd>, Op::kAnd},
    {"BitwiseNot", Unary<Op::kNot>, Op::kNot},
    {"BitwiseOr", Binary<Op::kOr>, Op::kOr},
    {"BitwiseXor", Binary<Op::kXor>, Op::kXor},
    {"Cast", Cast, Op::kCast},
    {"CastLike", CastLike, Op::kCast},
    {"Ceil", Unary<Op::kCeil>, Op::kCeil},
    {"Clip", Clip, Op::kMin},
    {"Cos", Unary<Op::kCos>, Op::kCos},
    {"Cosh", Unary<Op::kCosh>, Op::kCosh},
    {"Div", Binary<Op::kDiv>, Op::kDiv},
    {"Equal", Compare<Comparison::kEq>, Op::kCompare},
    {"Erf", Erf, Op::kErf},
    {"Exp", Unary<Op::kExp>, Op::kExp},
    {"Floor", Unary<Op::kFloor>, Op::kFloor},
    {"Greater", Compare<Comparison::kGt>, Op::kCompare},
    {"GreaterOrEqual", Compare<Comparison::kGe>, Op::kCompare},
    {"Identity", Identity},
    {"IsInf", IsInf, Op::kIsInf},
    {"IsNaN", Unary<Op::kIsNan>, Op::kIsNan},
    {"Less", Compare<Comparison::kLt>, Op::kCompare},
    {"LessOrEqual", Compare<Comparison::kLe>, Op::kCompare},
    {"Log", Unary<Op::kLog>, Op::kLog},
    {"Max", Variadic<Op::kMax>, Op::kMax},
    {"Mean", Mean, Op::kAdd},
    {"Min", Variadic<Op::kMin>, Op::kMin},
    {"Mod", Mod, Op::kRem},
    {"Mul", Binary<Op::kMul>, Op::kMul},
    {"Neg", Unary<Op::kNeg>, Op::kNeg},
    {"Not", Unary<Op::kNot>, Op::kNot},
    {"Or", Binary<Op::kOr>, Op::kOr},
    {"Pow", Pow, Op::kPow},
    {"Reciprocal", Unary<Op::kReciprocal>, Op::kReciprocal},
    {"Round", Unary<Op::kRound>, Op::kRound},
    {"Sigmoid", Unary<Op::kLogistic>, Op::kLogistic},
    {"Sign", Unary<Op::kSign>, Op::kSign},
    {"Sin", Unary<Op::kSin>, Op::kSin},
    {"Sinh", Unary<Op::kSinh>, Op::kSinh},
    {"Sqrt", Unary<Op::kSqrt>, Op::kSqrt},
    {"Sub", Binary<Op::kSub>, Op::kSub},
    {"Sum", Variadic<Op::kAdd>, Op::kAdd},
    {"Tan", Unary<Op::kTan>, Op::kTan},
    {"Tanh", Unary<Op::kTanh>, Op::kTanh},
    {"Where", Where, Op::kSelect},
    {"Xor", Binary<Op::kXor>, Op::kXor},
};

}  // namespace

std::span<const Converter> ElementwiseConverters() { return kConverters; }

}  // namespace encore::onnx
