#include "encore/backends/cpu/codegen/scalar_ops.h"

#include <bit>
#include <cmath>
#include <limits>

#include "encore/backends/cpu/codegen/math/math.h"
#include "encore/ir/ops/functions.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/check.h"
#include "encore/ir/types/float_formats.h"

namespace encore::backends::cpu {
namespace {

bool IsBFloat(DType dtype) { return dtype == DType::kBF16; }

bool IsNarrow(DType dtype) { return IsFloat(dtype) && BitWidth(dtype) <= 8; }

// f32 to the bits of bf16, nearest even; NaN stays a NaN.
Value RoundToBFloat(IrBuilder& b, const Value& value) {
  const Value bits = b.Bitcast(value, Elem::kI32);
  const auto constant = [&bits](int64_t v) {
    return IrBuilder::Int(bits.type, v);
  };
  const Value odd =
      b.Binary("and", b.Binary("lshr", bits, constant(16)), constant(1));
  const Value rounded =
      b.Binary("add", b.Binary("add", bits, odd), constant(0x7fff));
  const Value quiet = b.Binary("or", bits, constant(0x400000));
  const Value kept = b.Select(b.Compare("uno", value, value), quiet, rounded);
  return b.Convert("trunc", b.Binary("lshr", kept, constant(16)), Elem::kI16);
}

// A float in compute form, rounded to what `dtype` can hold.
Value RoundTo(IrBuilder& b, DType dtype, const Value& value) {
  if (BitWidth(dtype) >= 32) return value;
  return FromMemory(b, dtype, ToMemory(b, dtype, value));
}

// Of an integer of less than a byte the bits in an i8, extended; other dtypes
// as they are.
Value Wrapped(IrBuilder& b, DType dtype, const Value& value) {
  if (!IsPacked(dtype) || IsFloat(dtype)) return value;
  const Value unused = IrBuilder::Int(value.type, 8 - BitWidth(dtype));
  return b.Binary(IsSigned(dtype) ? "ashr" : "lshr",
                  b.Binary("shl", value, unused), unused);
}

// A float, of those beyond the largest finite one of `dtype` that; NaN stays.
Value Saturated(IrBuilder& b, DType dtype, const Value& x) {
  const Value most = IrBuilder::Float(x.type, LargestFinite(dtype));
  const Value least = IrBuilder::Float(x.type, -LargestFinite(dtype));
  const Value below = b.Select(b.Compare("ogt", x, most), most, x);
  return b.Select(b.Compare("olt", below, least), least, below);
}

// f64 to f32, so that rounding the result to fewer bits rounds x once: toward
// zero, with the last bit set where that loses something.
// Source: S. Boldo, G. Melquiond, When double rounding is odd, 2005.
Value RoundToOdd(IrBuilder& b, const Value& x) {
  const Value nearest = b.Convert("fptrunc", x, Elem::kF32);
  const Value back = b.Convert("fpext", nearest, Elem::kF64);
  const Value bits = b.Bitcast(nearest, Elem::kI32);
  const Value one = IrBuilder::Int(bits.type, 1);
  const Value beyond =
      b.Compare("ogt", b.Intrinsic("fabs", {back}), b.Intrinsic("fabs", {x}));
  const Value toward_zero = b.Select(beyond, b.Binary("sub", bits, one), bits);
  const Value odd = b.Select(b.Compare("one", back, x),
                             b.Binary("or", toward_zero, one), toward_zero);
  return b.Bitcast(odd, Elem::kF32);
}

// A number in the compute form of a float dtype that it is then rounded to.
Value ToCompute(IrBuilder& b, DType from, DType to, const Value& x) {
  const Elem elem = ComputeElem(to);
  // f32 does not hold these, and rounding to it may end halfway between two
  // elements of `to`.
  const bool halfway = BitWidth(to) < 32 && BitWidth(from) >= 32;
  if (IsFloat(from)) {
    if (from == DType::kF64 && halfway) return RoundToOdd(b, x);
    const int have = ElemBits(x.type.elem), want = ElemBits(elem);
    if (have == want) return x;
    return b.Convert(have < want ? "fpext" : "fptrunc", x, elem);
  }
  const char* convert = IsSigned(from) ? "sitofp" : "uitofp";
  if (halfway) return RoundToOdd(b, b.Convert(convert, x, Elem::kF64));
  return b.Convert(convert, x, elem);
}

// A float as an integer of less than a byte: the nearest bound where it does
// not fit.
Value TruncateToPacked(IrBuilder& b, DType to, const Value& x) {
  const bool is_signed = IsSigned(to);
  const Value wide = b.ConvertIntrinsic(is_signed ? "fptosi.sat" : "fptoui.sat",
                                        x, ComputeElem(to));
  const int bits = BitWidth(to) - (is_signed ? 1 : 0);
  const Value most = IrBuilder::Int(wide.type, (1 << bits) - 1);
  const Value below = b.Intrinsic(is_signed ? "smin" : "umin", {wide, most});
  if (!is_signed) return below;
  return b.Intrinsic("smax", {below, IrBuilder::Int(wide.type, -(1 << bits))});
}

Value EmitCast(IrBuilder& b, DType from, DType to, bool saturate,
               const Value& x) {
  const Elem elem = ComputeElem(to);
  if (to == DType::kBool) {
    if (from == DType::kBool) return x;
    return b.Compare(IsFloat(from) ? "une" : "ne", x, IrBuilder::Zero(x.type));
  }
  if (IsFloat(to)) {
    const Value value = ToCompute(b, from, to, x);
    return RoundTo(b, to, saturate ? Saturated(b, to, value) : value);
  }
  if (IsFloat(from)) {
    if (IsPacked(to)) return TruncateToPacked(b, to, x);
    return b.ConvertIntrinsic(IsSigned(to) ? "fptosi.sat" : "fptoui.sat", x,
                              elem);
  }
  const int have = ElemBits(x.type.elem), want = ElemBits(elem);
  const char* convert = have > want      ? "trunc"
                        : IsSigned(from) ? "sext"
                                         : "zext";
  return Wrapped(b, to, have == want ? x : b.Convert(convert, x, elem));
}

Value MaxMin(IrBuilder& b, DType dtype, bool max, const Value& x,
             const Value& y) {
  if (!IsFloat(dtype)) {
    const bool is_signed = IsSigned(dtype);
    return b.Intrinsic(
        max ? (is_signed ? "smax" : "umax") : (is_signed ? "smin" : "umin"),
        {x, y});
  }
  return b.Extreme(max, x, y);
}

Value IntegerDivision(IrBuilder& b, DType dtype, bool remainder, const Value& x,
                      const Value& y) {
  const auto constant = [&x](int64_t v) { return IrBuilder::Int(x.type, v); };
  const Value by_zero = b.Compare("eq", y, constant(0));
  Value divisor = b.Select(by_zero, constant(1), y);
  if (!IsSigned(dtype)) {
    const Value result = b.Binary(remainder ? "urem" : "udiv", x, divisor);
    return b.Select(by_zero, remainder ? x : constant(-1), result);
  }
  const Value by_minus_one = b.Compare("eq", y, constant(-1));
  divisor = b.Select(by_minus_one, constant(1), divisor);
  Value result = b.Binary(remainder ? "srem" : "sdiv", x, divisor);
  if (remainder) {
    return b.Select(by_zero, x, result);
  }
  result = b.Select(by_minus_one, b.Binary("sub", constant(0), x), result);
  return b.Select(by_zero, constant(-1), result);
}

Value IntegerPower(IrBuilder& b, DType dtype, const Value& x, const Value& y) {
  const auto constant = [&x](int64_t v) { return IrBuilder::Int(x.type, v); };
  const Value one = constant(1), zero = constant(0);
  const auto odd = [&](const Value& v) {
    return b.Compare("ne", b.Binary("and", v, one), zero);
  };
  Value result = one, power = x, rest = y;
  for (int bit = 0; bit < ElemBits(x.type.elem); ++bit) {
    result = b.Select(odd(rest), b.Binary("mul", result, power), result);
    power = b.Binary("mul", power, power);
    rest = b.Binary("lshr", rest, one);
  }
  if (!IsSigned(dtype)) return result;
  const Value minus = constant(-1);
  Value inverse = b.Select(b.Compare("eq", x, one), one, zero);
  inverse = b.Select(b.Compare("eq", x, minus), b.Select(odd(y), minus, one),
                     inverse);
  return b.Select(b.Compare("slt", y, zero), inverse, result);
}

Value Shift(IrBuilder& b, DType dtype, bool left, const Value& x,
            const Value& y) {
  const Value width = IrBuilder::Int(x.type, ElemBits(x.type.elem));
  const Value most = IrBuilder::Int(x.type, ElemBits(x.type.elem) - 1);
  const Value inside = b.Compare("ult", y, width);
  const Value amount = b.Select(inside, y, most);
  if (!left && IsSigned(dtype)) return b.Binary("ashr", x, amount);
  return b.Select(inside, b.Binary(left ? "shl" : "lshr", x, amount),
                  IrBuilder::Zero(x.type));
}

Value EmitCompare(IrBuilder& b, Comparison comparison, DType dtype,
                  const Value& x, const Value& y) {
  const bool is_float = IsFloat(dtype), is_signed = IsSigned(dtype);
  switch (comparison) {
    case Comparison::kEq:
      return b.Compare(is_float ? "oeq" : "eq", x, y);
    case Comparison::kNe:
      return b.Compare(is_float ? "une" : "ne", x, y);
    case Comparison::kLt:
      return b.Compare(is_float ? "olt" : is_signed ? "slt" : "ult", x, y);
    case Comparison::kLe:
      return b.Compare(is_float ? "ole" : is_signed ? "sle" : "ule", x, y);
    case Comparison::kGt:
      return b.Compare(is_float ? "ogt" : is_signed ? "sgt" : "ugt", x, y);
    case Comparison::kGe:
      return b.Compare(is_float ? "oge" : is_signed ? "sge" : "uge", x, y);
  }
  return {};
}

Value EmitSign(IrBuilder& b, DType dtype, const Value& x) {
  const Value zero = IrBuilder::Zero(x.type);
  if (IsFloat(dtype)) {
    const Value one = IrBuilder::Float(x.type, 1.0);
    const Value sign = b.Intrinsic("copysign", {one, x});
    // Zeros and NaN are neither above nor below 0.
    return b.Select(b.Compare("one", x, zero), sign, x);
  }
  const Value one = IrBuilder::Int(x.type, 1);
  const Value positive =
      b.Select(b.Compare(IsSigned(dtype) ? "sgt" : "ugt", x, zero), one, zero);
  if (!IsSigned(dtype)) return positive;
  return b.Select(b.Compare("slt", x, zero), IrBuilder::Int(x.type, -1),
                  positive);
}

Value EmitAbs(IrBuilder& b, DType dtype, const Value& x) {
  if (IsFloat(dtype)) return b.Intrinsic("fabs", {x});
  if (!IsSigned(dtype)) return x;
  const Value zero = IrBuilder::Zero(x.type);
  return b.Select(b.Compare("slt", x, zero), b.Binary("sub", zero, x), x);
}

// Functions that only floats have.
Value EmitFloatOp(IrBuilder& b, const Value& helpers, Op op,
                  std::span<const Value> v) {
  MathEmitter math{b, helpers};
  const Value& x = v[0];
  const Value one = IrBuilder::Float(x.type, 1.0);
  const FunctionInfo* function = FindFunction(op);
  if (function != nullptr && function->code == FunctionCode::kCalled) {
    return math.Helper(static_cast<MathFunction>(function->number), x,
                       v.size() > 1 ? v[1] : Value());
  }
  switch (op) {
    case Op::kCeil:
      return b.Intrinsic("ceil", {x});
    case Op::kFloor:
      return b.Intrinsic("floor", {x});
    case Op::kRound:
      return b.Intrinsic("rint", {x});
    case Op::kSqrt:
      return b.Intrinsic("sqrt", {x});
    case Op::kRsqrt:
      return b.Binary("fdiv", one, b.Intrinsic("sqrt", {x}));
    case Op::kReciprocal:
      return b.Binary("fdiv", one, x);
    case Op::kExp:
      return math.Exp(x);
    case Op::kExpm1:
      return math.Expm1(x);
    case Op::kLog:
      return math.Log(x);
    case Op::kLog1p:
      return math.Log1p(x);
    case Op::kTanh:
      return math.Tanh(x);
    case Op::kErf:
      return math.Erf(x);
    case Op::kLogistic:
      return math.Logistic(x);
    case Op::kSin:
      return math.Sin(x);
    case Op::kCos:
      return math.Cos(x);
    case Op::kPow:
      return math.Pow(x, v[1]);
    case Op::kIsNan:
      return b.Compare("uno", x, x);
    case Op::kIsInf:
      return b.Compare("oeq", b.Intrinsic("fabs", {x}),
                       IrBuilder::Float(x.type, INFINITY));
    default:
      break;
  }
  ENCORE_CHECK(false) << "no code for " << Mnemonic(op);
  return {};
}

Value EmitArithmetic(IrBuilder& b, const Value& helpers, Op op, DType dtype,
                     std::span<const Value> v) {
  const bool is_float = IsFloat(dtype);
  const Value& x = v[0];
  switch (op) {
    case Op::kAdd:
      return b.Binary(is_float ? "fadd" : "add", x, v[1]);
    case Op::kSub:
      return b.Binary(is_float ? "fsub" : "sub", x, v[1]);
    case Op::kMul:
      return b.Binary(is_float ? "fmul" : "mul", x, v[1]);
    case Op::kNeg:
      return is_float ? b.Unary("fneg", x)
                      : b.Binary("sub", IrBuilder::Zero(x.type), x);
    case Op::kAbs:
      return EmitAbs(b, dtype, x);
    case Op::kSign:
      return EmitSign(b, dtype, x);
    case Op::kMax:
      return MaxMin(b, dtype, true, x, v[1]);
    case Op::kMin:
      return MaxMin(b, dtype, false, x, v[1]);
    case Op::kNot:
      return b.Binary("xor", x, IrBuilder::Int(x.type, -1));
    case Op::kAnd:
      return b.Binary("and", x, v[1]);
    case Op::kOr:
      return b.Binary("or", x, v[1]);
    case Op::kXor:
      return b.Binary("xor", x, v[1]);
    case Op::kShiftLeft:
      return Shift(b, dtype, true, x, v[1]);
    case Op::kShiftRight:
      return Shift(b, dtype, false, x, v[1]);
    case Op::kDiv:
      return is_float ? b.Binary("fdiv", x, v[1])
                      : IntegerDivision(b, dtype, false, x, v[1]);
    case Op::kRem:
      if (!is_float) return IntegerDivision(b, dtype, true, x, v[1]);
      break;
    case Op::kPow:
      if (!is_float) return IntegerPower(b, dtype, x, v[1]);
      break;
    case Op::kIsInf:
      if (FormatOf(dtype).has_infinity()) break;
      return IrBuilder::Zero(x.type.With(Elem::kI1));
    default:
      break;
  }
  return EmitFloatOp(b, helpers, op, v);
}

}  // namespace

bool IsComputed(DType dtype) { return BitWidth(dtype) > 0; }

int PackedBits(DType dtype) { return IsPacked(dtype) ? BitWidth(dtype) : 0; }

Elem ComputeElem(DType dtype) {
  if (dtype == DType::kBool) return Elem::kI1;
  if (dtype == DType::kF64) return Elem::kF64;
  if (IsFloat(dtype)) return Elem::kF32;
  return MemoryElem(dtype);
}

Elem MemoryElem(DType dtype) {
  if (dtype == DType::kF16) return Elem::kF16;
  if (dtype == DType::kF32) return Elem::kF32;
  if (dtype == DType::kF64) return Elem::kF64;
  switch (BitWidth(dtype)) {
    case 2:
    case 4:
    case 8:
      return Elem::kI8;
    case 16:
      return Elem::kI16;
    case 32:
      return Elem::kI32;
    default:
      return Elem::kI64;
  }
}

Value FromMemory(IrBuilder& b, DType dtype, const Value& value) {
  if (dtype == DType::kBool) {
    return b.Compare("ne", value, IrBuilder::Zero(value.type));
  }
  if (IsBFloat(dtype)) {
    const Value wide = b.Convert("zext", value, Elem::kI32);
    return b.Bitcast(b.Binary("shl", wide, IrBuilder::Int(wide.type, 16)),
                     Elem::kF32);
  }
  if (dtype == DType::kF16) return b.Convert("fpext", value, Elem::kF32);
  if (IsNarrow(dtype)) return DecodeNarrow(b, FormatOf(dtype), value);
  return Wrapped(b, dtype, value);
}

Value ToMemory(IrBuilder& b, DType dtype, const Value& value) {
  if (dtype == DType::kBool) return b.Convert("zext", value, Elem::kI8);
  if (IsBFloat(dtype)) return RoundToBFloat(b, value);
  if (dtype == DType::kF16) return b.Convert("fptrunc", value, Elem::kF16);
  if (IsNarrow(dtype)) return EncodeNarrow(b, FormatOf(dtype), value);
  return value;
}

Value ConstantValue(DType dtype, uint64_t bits, int lanes) {
  const IrType type{ComputeElem(dtype), lanes};
  if (dtype == DType::kF64) {
    return IrBuilder::Float(type, std::bit_cast<double>(bits));
  }
  if (dtype == DType::kF32) {
    return IrBuilder::Float(type,
                            std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  if (IsFloat(dtype)) {
    return IrBuilder::Float(type,
                            DecodeFloat(dtype, static_cast<uint16_t>(bits)));
  }
  if (dtype == DType::kBool) return IrBuilder::Int(type, bits != 0);
  const int shift = 64 - BitWidth(dtype);
  const uint64_t high = bits << shift;
  // Wider unsigned ones may be written as signed: their bits are the same.
  const bool extend = IsSigned(dtype) || !IsPacked(dtype);
  return IrBuilder::Int(type, extend ? static_cast<int64_t>(high) >> shift
                                     : static_cast<int64_t>(high >> shift));
}

Value Identity(RegionCombiner combiner, DType dtype, int lanes) {
  const IrType type{ComputeElem(dtype), lanes};
  const bool is_float = IsFloat(dtype);
  const int bits = dtype == DType::kBool ? 1 : BitWidth(dtype);
  const int64_t ones = IsPacked(dtype) && !IsSigned(dtype)
                           ? (int64_t{1} << BitWidth(dtype)) - 1
                           : -1;
  switch (combiner) {
    case RegionCombiner::kProduct:
      return is_float ? IrBuilder::Float(type, 1.0) : IrBuilder::Int(type, 1);
    case RegionCombiner::kMax:
      if (is_float) return IrBuilder::Float(type, -INFINITY);
      if (!IsSigned(dtype)) return IrBuilder::Int(type, 0);
      return IrBuilder::Int(type, INT64_MIN >> (64 - bits));
    case RegionCombiner::kMin:
      if (is_float) return IrBuilder::Float(type, INFINITY);
      if (!IsSigned(dtype)) return IrBuilder::Int(type, ones);
      return IrBuilder::Int(type, INT64_MAX >> (64 - bits));
    case RegionCombiner::kAnd:
      return IrBuilder::Int(type, ones);
    default:
      return IrBuilder::Zero(type);
  }
}

Value Combine(IrBuilder& b, RegionCombiner combiner, DType dtype,
              const Value& x, const Value& y) {
  const bool is_bool = dtype == DType::kBool, is_float = IsFloat(dtype);
  switch (combiner) {
    case RegionCombiner::kSum:
      return Wrapped(b, dtype,
                     b.Binary(is_float  ? "fadd"
                              : is_bool ? "or"
                                        : "add",
                              x, y));
    case RegionCombiner::kProduct:
      return Wrapped(b, dtype,
                     b.Binary(is_float  ? "fmul"
                              : is_bool ? "and"
                                        : "mul",
                              x, y));
    case RegionCombiner::kMax:
      return is_bool ? b.Binary("or", x, y) : MaxMin(b, dtype, true, x, y);
    case RegionCombiner::kMin:
      return is_bool ? b.Binary("and", x, y) : MaxMin(b, dtype, false, x, y);
    case RegionCombiner::kAnd:
      return b.Binary("and", x, y);
    case RegionCombiner::kOr:
      return b.Binary("or", x, y);
    default:
      break;
  }
  ENCORE_CHECK(false) << "not a simple combiner";
  return {};
}

Value EmitOp(IrBuilder& b, const Value& helpers, const Expr& expr,
             std::span<const DType> dtypes, std::span<const Value> v) {
  if (expr.op == Op::kCast) {
    return EmitCast(b, dtypes[0], expr.dtype, expr.saturate, v[0]);
  }
  if (expr.op == Op::kSelect) return b.Select(v[0], v[1], v[2]);
  if (expr.op == Op::kCompare) {
    return EmitCompare(b, expr.comparison, dtypes[0], v[0], v[1]);
  }
  return Wrapped(b, expr.dtype,
                 EmitArithmetic(b, helpers, expr.op, dtypes[0], v));
}

}  // namespace encore::backends::cpu
