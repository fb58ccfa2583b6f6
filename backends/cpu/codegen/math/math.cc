#include "encore/backends/cpu/codegen/math/math.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace encore::backends::cpu {
namespace {

constexpr double kInf = INFINITY;
constexpr double kLog2E = 1.44269504088896341;
// ln 2 in two parts whose first has trailing zeros, so that n * kLn2High is
// exact (Cody and Waite).
constexpr double kLn2High = 0.693145751953125;
constexpr double kLn2Low = 1.428606765330187e-06;

bool IsF32(const Value& x) { return x.type.elem == Elem::kF32; }

constexpr int kMantissaBits = 23, kBias = 127;  // of f32
constexpr int64_t kInfBits = 0x7f800000, kNanBits = 0x7fc00000;

}  // namespace

Value MathEmitter::Const(const Value& like, double value) {
  return IrBuilder::Float(like.type, value);
}

Value MathEmitter::Polynomial(const Value& x, std::span<const double> c) {
  Value sum = Const(x, c[0]);
  for (const double coefficient : c.subspan(1)) {
    sum = b.Fma(sum, x, Const(x, coefficient));
  }
  return sum;
}

Value MathEmitter::Helper(MathFunction function, const Value& x,
                          const Value& y) {
  const IrType doubles = x.type.With(Elem::kF64);
  const auto spill = [&](const Value& value) {
    const Value wide =
        IsF32(value) ? b.Convert("fpext", value, Elem::kF64) : value;
    return b.Spill(wide);
  };
  const Value in = spill(x);
  const Value second = y.valid() ? spill(y) : in;
  const Value out = b.NewArray(doubles, 1);
  const Value slot = b.Gep(helpers, Elem::kI8, IrBuilder::I64(8));
  const Value pointer = b.Load({Elem::kPtr, 1}, slot, 8);
  b.Call(pointer, {IrBuilder::I32(static_cast<int64_t>(function)), in, second,
                   out, IrBuilder::I64(x.lanes())});
  const Value result = b.Load(doubles, out, IrBuilder::kStackAlign);
  return IsF32(x) ? b.Convert("fptrunc", result, Elem::kF32) : result;
}

// x * 2^exponent for an exponent (a float with an integer value) in
// [-300, 300], in two steps so that neither factor overflows.
Value MathEmitter::Scale(const Value& x, const Value& exponent) {
  const Value n = b.Convert("fptosi", exponent, Elem::kI32);
  const Value half = b.Binary("ashr", n, IrBuilder::Int(n.type, 1));
  const auto power = [&](const Value& k) {
    const Value biased = b.Binary("add", k, IrBuilder::Int(k.type, 127));
    return b.Bitcast(b.Binary("shl", biased, IrBuilder::Int(k.type, 23)),
                     Elem::kF32);
  };
  return b.Binary("fmul", b.Binary("fmul", x, power(half)),
                  power(b.Binary("sub", n, half)));
}

// e^r = 1 + r + r^2 p(r) for |r| <= ln(2) / 2 (coefficients: Cephes expf).
constexpr std::array kExpTail = {1.9875691500e-4, 1.3981999507e-3,
                                 8.3334519073e-3, 4.1665795894e-2,
                                 1.6666665459e-1, 5.0000001201e-1};

MathEmitter::Power MathEmitter::PowerOfE(const Value& x, double least) {
  // Beyond these the result is its limit; the comparisons keep NaN.
  const Value low = Const(x, least), high = Const(x, 89.0);
  Value y = b.Select(b.Compare("olt", x, low), low, x);
  y = b.Select(b.Compare("ogt", y, high), high, y);
  const Value n = b.Intrinsic("rint", {b.Binary("fmul", y, Const(x, kLog2E))});
  Value r = b.Fma(n, Const(x, -kLn2High), y);
  r = b.Fma(n, Const(x, -kLn2Low), r);
  const Value p = Polynomial(r, kExpTail);
  return {n, b.Fma(b.Binary("fmul", p, r), r, r)};
}

Value MathEmitter::Exp(const Value& x) {
  if (!IsF32(x)) return Helper(MathFunction::kExp, x, {});
  const Power power = PowerOfE(x, -104.0);
  const Value e = b.Binary("fadd", power.rest, Const(x, 1.0));
  if (IrBuilder::CanScaleByPower(x.type)) {
    return b.ScaleByPower(e, power.exponent);
  }
  // A NaN must not reach the conversion to an integer.
  const Value is_nan = b.Compare("uno", x, x);
  const Value safe = b.Select(is_nan, Const(x, 0), power.exponent);
  return b.Select(is_nan, x, Scale(e, safe));
}

// The sum of y log2(e) and a number whose last bit is worth 1 has the exponent
// of the result in its last bits.
Value MathEmitter::ExpOfNegative(const Value& x) {
  constexpr double kLastBitIsOne = 12582912 + kBias;  // 1.5 * 2^23
  // 2^-127 is written as 0. The comparison keeps NaN.
  const Value low = Const(x, -kBias / kLog2E);
  const Value y = b.Select(b.Compare("olt", x, low), low, x);
  const Value shift = Const(x, kLastBitIsOne);
  const Value shifted = b.Fma(y, Const(x, kLog2E), shift);
  const Value n = b.Binary("fsub", shifted, shift);
  Value r = b.Fma(n, Const(x, -kLn2High), y);
  r = b.Fma(n, Const(x, -kLn2Low), r);
  const Value rest = b.Fma(b.Binary("fmul", Polynomial(r, kExpTail), r), r, r);
  const Value bits = b.Bitcast(shifted, Elem::kI32);
  const Value power =
      b.Bitcast(b.Binary("shl", bits, IrBuilder::Int(bits.type, kMantissaBits)),
                Elem::kF32);
  return b.Fma(rest, power, power);
}

Value MathEmitter::Expm1(const Value& x) {
  if (!IsF32(x)) return Helper(MathFunction::kExpm1, x, {});
  const Power power = PowerOfE(x, -30.0);
  const Value is_nan = b.Compare("uno", x, x);
  const Value safe = b.Select(is_nan, Const(x, 0), power.exponent);
  // 2^n (e^r - 1) + (2^n - 1); halved, because 2^n may overflow where the
  // result does not.
  const Value half = Scale(Const(x, 0.5), safe);
  const Value sum =
      b.Fma(half, power.rest, b.Binary("fsub", half, Const(x, 0.5)));
  const Value result = b.Binary("fadd", sum, sum);
  const Value tiny = b.Compare("olt", b.Intrinsic("fabs", {x}), Const(x, 1e-7));
  return b.Select(b.Binary("or", is_nan, tiny), x, result);
}

MathEmitter::Split MathEmitter::SplitOf(const Value& x) {
  // Subnormals are scaled into the normal range.
  const Value small = b.Compare("olt", x, Const(x, 1.17549435e-38));
  const Value scaled =
      b.Select(small, b.Binary("fmul", x, Const(x, 8388608.0)), x);
  const Value bits = b.Bitcast(scaled, Elem::kI32);
  const IrType ints = bits.type;
  const Value shifted = b.Binary("sub", bits, IrBuilder::Int(ints, 0x3f3504f3));
  const Value e =
      b.Convert("sitofp", b.Binary("ashr", shifted, IrBuilder::Int(ints, 23)),
                Elem::kF32);
  const Value kept = b.Binary("and", shifted, IrBuilder::Int(ints, 0x007fffff));
  return {b.Bitcast(b.Binary("add", kept, IrBuilder::Int(ints, 0x3f3504f3)),
                    Elem::kF32),
          b.Binary("fadd", e, b.Select(small, Const(x, -23), Const(x, 0)))};
}

// ln(x), or ln(x + correction) for a correction below an ulp of x.
Value MathEmitter::LogOf(const Value& x, const Value* correction) {
  const auto [m, e] = SplitOf(x);
  const Value f = b.Binary("fsub", m, Const(x, 1.0));
  // ln(1 + f) = f - f^2/2 + f^3 p(f) (coefficients: Cephes logf).
  static constexpr std::array kP = {
      7.0376836292e-2,  -1.1514610310e-1, 1.1676998740e-1,
      -1.2420140846e-1, 1.4249322787e-1,  -1.6668057665e-1,
      2.0000714765e-1,  -2.4999993993e-1, 3.3333331174e-1};
  const Value z = b.Binary("fmul", f, f);
  Value y = b.Binary("fmul", b.Binary("fmul", Polynomial(f, kP), f), z);
  y = b.Fma(e, Const(x, kLn2Low), y);
  if (correction != nullptr) y = b.Binary("fadd", y, *correction);
  y = b.Fma(z, Const(x, -0.5), y);
  Value result = b.Fma(e, Const(x, kLn2High), b.Binary("fadd", f, y));
  result = b.Select(b.Compare("oeq", x, Const(x, kInf)), x, result);
  result = b.Select(b.Compare("oeq", x, Const(x, 0)), Const(x, -kInf), result);
  const Value outside = b.Compare("ult", x, Const(x, 0));
  return b.Select(outside, Const(x, NAN), result);
}

Value MathEmitter::Log(const Value& x) {
  if (!IsF32(x)) return Helper(MathFunction::kLog, x, {});
  return LogOf(x, nullptr);
}

Value MathEmitter::Log1p(const Value& x) {
  if (!IsF32(x)) return Helper(MathFunction::kLog1p, x, {});
  // ln(1 + x) = ln(u) + (x - (u - 1)) / u with u = 1 + x rounded.
  const Value one = Const(x, 1.0);
  const Value u = b.Binary("fadd", x, one);
  const Value rest = b.Select(b.Compare("olt", x, one),
                              b.Binary("fsub", x, b.Binary("fsub", u, one)),
                              b.Binary("fsub", one, b.Binary("fsub", u, x)));
  const Value finite =
      b.Compare("olt", b.Intrinsic("fabs", {x}), Const(x, 1e30));
  const Value correction =
      b.Select(finite, b.Binary("fdiv", rest, u), Const(x, 0));
  const Value result = LogOf(u, &correction);
  const Value at_pole = b.Compare("oeq", x, Const(x, -1.0));
  const Value tiny = b.Compare("olt", b.Intrinsic("fabs", {x}), Const(x, 5e-8));
  return b.Select(tiny, x, b.Select(at_pole, Const(x, -kInf), result));
}

Value MathEmitter::Tanh(const Value& x) {
  if (!IsF32(x)) return Helper(MathFunction::kTanh, x, {});
  const Value a = b.Intrinsic("fabs", {x});
  // Near 0: x + x^3 p(x^2) (coefficients: Cephes tanhf).
  static constexpr std::array kP = {-5.70498872745e-3, 2.06390887954e-2,
                                    -5.37397155531e-2, 1.33314422036e-1,
                                    -3.33332819422e-1};
  const Value z = b.Binary("fmul", x, x);
  const Value near = b.Fma(b.Binary("fmul", Polynomial(z, kP), z), x, x);
  // Elsewhere: 1 - 2 / (e^2|x| + 1).
  const Value e = Exp(b.Binary("fadd", a, a));
  const Value quotient =
      b.Binary("fdiv", Const(x, 2.0), b.Binary("fadd", e, Const(x, 1.0)));
  const Value far =
      b.Intrinsic("copysign", {b.Binary("fsub", Const(x, 1.0), quotient), x});
  return b.Select(b.Compare("olt", a, Const(x, 0.625)), near, far);
}

Value MathEmitter::Erf(const Value& x) {
  if (!IsF32(x)) return Helper(MathFunction::kErf, x, {});
  const Value a = b.Intrinsic("fabs", {x});
  const Value s = b.Binary("fmul", x, x);
  // Two minimax approximations by N. Juffa: x + x p(x^2) near 0, and
  // 1 - e^-(|x| + |x| q(|x|)) elsewhere.
  static constexpr std::array kP = {-5.96761703e-4, 4.99119423e-3,
                                    -2.67681349e-2, 1.12819925e-1,
                                    -3.76125336e-1, 1.28379166e-1};
  const Value near = b.Fma(Polynomial(s, kP), x, x);
  // |x| >= 4 gives 1 in f32; the clamp keeps powers of |x| finite.
  const Value four = Const(x, 4.0);
  const Value t = b.Select(b.Compare("ogt", a, four), four, a);
  static constexpr std::array kQ = {
      -1.72853470e-5, 3.83197126e-4,  -3.88396438e-3, 2.42546219e-2,
      -1.06777877e-1, -6.34846687e-1, -1.28717512e-1};
  const Value q = b.Fma(Polynomial(t, kQ), t, b.Unary("fneg", t));
  const Value far =
      b.Intrinsic("copysign", {b.Binary("fsub", Const(x, 1.0), Exp(q)), x});
  return b.Select(b.Compare("ogt", a, Const(x, 0.927734375)), far, near);
}

Value MathEmitter::Logistic(const Value& x) {
  const Value one = Const(x, 1.0);
  if (!IsF32(x)) {
    const Value e = Exp(b.Unary("fneg", x));
    return b.Binary("fdiv", one, b.Binary("fadd", one, e));
  }
  // With e = e^-|x| neither side overflows: 1 / (1 + e) and e / (1 + e).
  const Value e = Exp(b.Unary("fneg", b.Intrinsic("fabs", {x})));
  const Value positive = b.Compare("oge", x, Const(x, 0));
  return b.Binary("fdiv", b.Select(positive, one, e), b.Binary("fadd", one, e));
}

// sin(x + quadrant * pi / 2).
Value MathEmitter::SinCos(const Value& x, int quadrant, MathFunction far) {
  const Value a = b.Intrinsic("fabs", {x});
  const Value limit = Const(x, 30000.0);
  const Value is_far = b.Compare("uge", a, limit);
  const Value y = b.Select(is_far, Const(x, 0), x);
  const Value n = b.Intrinsic(
      "rint", {b.Binary("fmul", y, Const(x, 0.636619772367581343))});
  // pi / 2 in three parts.
  Value r = b.Fma(n, Const(x, -1.57079601287841796875), y);
  r = b.Fma(n, Const(x, -3.1391647326017846e-7), r);
  r = b.Fma(n, Const(x, -5.390302529957765e-15), r);
  const Value k = b.Binary("add", b.Convert("fptosi", n, Elem::kI32),
                           IrBuilder::Int(x.type.With(Elem::kI32), quadrant));
  const Value z = b.Binary("fmul", r, r);
  // Coefficients: Cephes sinf and cosf.
  static constexpr std::array kS = {-1.9515295891e-4, 8.3321608736e-3,
                                    -1.6666654611e-1};
  static constexpr std::array kC = {2.443315711809948e-5, -1.388731625493765e-3,
                                    4.166664568298827e-2};
  const Value sine = b.Fma(b.Binary("fmul", Polynomial(z, kS), z), r, r);
  const Value cosine = b.Fma(b.Binary("fmul", Polynomial(z, kC), z), z,
                             b.Fma(z, Const(x, -0.5), Const(x, 1.0)));
  const IrType ints = k.type;
  const auto bit = [&](int64_t mask) {
    return b.Compare("ne", b.Binary("and", k, IrBuilder::Int(ints, mask)),
                     IrBuilder::Int(ints, 0));
  };
  Value near = b.Select(bit(1), cosine, sine);
  near = b.Select(bit(2), b.Unary("fneg", near), near);
  const Value result = b.NewVariable(x.type);
  b.Set(result, near);
  Value any = is_far;
  if (x.lanes() > 1) {
    const Value lanes = b.Convert("sext", is_far, Elem::kI32);
    const Value folded = b.ReduceOr(lanes);
    any = b.Compare("ne", folded, IrBuilder::I32(0));
  }
  b.If(any, [&] { b.Set(result, b.Select(is_far, Helper(far, x, {}), near)); });
  return b.Get(result, x.type);
}

Value MathEmitter::Sin(const Value& x) {
  if (!IsF32(x)) return Helper(MathFunction::kSin, x, {});
  return SinCos(x, 0, MathFunction::kSin);
}

Value MathEmitter::Cos(const Value& x) {
  if (!IsF32(x)) return Helper(MathFunction::kCos, x, {});
  return SinCos(x, 1, MathFunction::kCos);
}

namespace {

// The float that is a power of two, given as its exponent, or NaN.
Value DecodeExponent(IrBuilder& b, const Value& wide) {
  const IrType type = wide.type;
  const Value normal =
      b.Binary("shl", wide, IrBuilder::Int(type, kMantissaBits));
  // The least one is subnormal as f32; exponent 255 is its infinity.
  const Value least = IrBuilder::Int(type, int64_t{1} << (kMantissaBits - 1));
  const Value number =
      b.Select(b.Compare("eq", wide, IrBuilder::Zero(type)), least, normal);
  const Value special = b.Compare("eq", wide, IrBuilder::Int(type, 255));
  return b.Bitcast(b.Select(special, IrBuilder::Int(type, kNanBits), number),
                   Elem::kF32);
}

// The exponent nearest to `value`, halfway ones up; NaN where it is not
// positive or too large.
Value EncodeExponent(IrBuilder& b, const Value& value) {
  const Value bits = b.Bitcast(value, Elem::kI32);
  const IrType type = bits.type;
  const auto constant = [&type](int64_t v) { return IrBuilder::Int(type, v); };
  const Value half = constant(int64_t{1} << (kMantissaBits - 1));
  const Value normal =
      b.Binary("lshr", b.Binary("add", bits, half), constant(kMantissaBits));
  // Subnormals of f32 lie around the two least powers.
  const Value subnormal = b.Convert(
      "zext",
      b.Compare("uge", bits, constant(int64_t{3} << (kMantissaBits - 2))),
      Elem::kI32);
  const Value code =
      b.Select(b.Compare("ult", bits, constant(int64_t{1} << kMantissaBits)),
               subnormal, normal);
  // Infinity, NaN and what is rounded to 2^128 have larger codes; a sign, too.
  const Value nan = constant(255);
  const Value within = b.Select(b.Compare("ugt", code, nan), nan, code);
  return b.Convert("trunc",
                   b.Select(b.Compare("eq", bits, constant(0)), nan, within),
                   Elem::kI8);
}

}  // namespace

Value DecodeNarrow(IrBuilder& b, const FloatFormat& format, const Value& bits) {
  Value wide = b.Convert("zext", bits, Elem::kI32);
  if (!format.has_sign()) return DecodeExponent(b, wide);
  const auto constant = [&wide](uint64_t v) {
    return IrBuilder::Int(wide.type, static_cast<int64_t>(v));
  };
  wide = b.Binary("and", wide, constant(2 * format.sign_bit() - 1));
  const auto replace = [&](std::string_view predicate, const Value& x,
                           uint64_t limit, int64_t with, const Value& value) {
    return b.Select(b.Compare(predicate, x, constant(limit)), constant(with),
                    value);
  };
  const Value magnitude =
      b.Binary("and", wide, constant(format.sign_bit() - 1));
  const Value sign =
      b.Binary("shl", b.Binary("xor", wide, magnitude),
               constant(31 - format.exponent_bits - format.mantissa_bits));
  const Value normal = b.Binary(
      "add",
      b.Binary("shl", magnitude,
               constant(kMantissaBits - format.mantissa_bits)),
      constant(static_cast<uint64_t>(kBias - format.bias) << kMantissaBits));
  const Value count = b.Convert("sitofp", magnitude, Elem::kF32);
  const double least = std::ldexp(1.0, 1 - format.bias - format.mantissa_bits);
  const Value subnormal = b.Bitcast(
      b.Binary("fmul", count, IrBuilder::Float(count.type, least)), Elem::kI32);
  Value result = b.Select(
      b.Compare("ult", magnitude, constant(1u << format.mantissa_bits)),
      subnormal, normal);
  switch (format.specials) {
    case FloatSpecials::kInfinityAndNan:
      result = replace("eq", magnitude, format.infinity(), kInfBits, result);
      result = replace("ugt", magnitude, format.infinity(), kNanBits, result);
      break;
    case FloatSpecials::kNan:
      result = replace("eq", magnitude, format.nan(), kNanBits, result);
      break;
    case FloatSpecials::kNanForNegativeZero:
    case FloatSpecials::kFinite:
    case FloatSpecials::kNanUnsigned:
      break;
  }
  result = b.Binary("or", result, sign);
  if (format.specials == FloatSpecials::kNanForNegativeZero) {
    result = replace("eq", wide, format.nan(), kNanBits, result);
  }
  return b.Bitcast(result, Elem::kF32);
}

Value EncodeNarrow(IrBuilder& b, const FloatFormat& format,
                   const Value& value) {
  if (!format.has_sign()) return EncodeExponent(b, value);
  const Value wide = b.Bitcast(value, Elem::kI32);
  const auto constant = [&wide](uint64_t v) {
    return IrBuilder::Int(wide.type, static_cast<int64_t>(v));
  };
  const Value magnitude = b.Binary("and", wide, constant(INT32_MAX));
  const Value lowered = b.Binary(
      "lshr", wide, constant(31 - format.exponent_bits - format.mantissa_bits));
  Value sign = b.Binary("and", lowered, constant(format.sign_bit()));
  // To nearest even at the last bit that is kept; a carry is right in the
  // exponent.
  const int shift = kMantissaBits - format.mantissa_bits;
  const Value odd = b.Binary(
      "and", b.Binary("lshr", magnitude, constant(shift)), constant(1));
  const Value rounded = b.Binary("add", b.Binary("add", magnitude, odd),
                                 constant((uint64_t{1} << (shift - 1)) - 1));
  const Value normal =
      b.Binary("sub", b.Binary("lshr", rounded, constant(shift)),
               constant(static_cast<uint64_t>(kBias - format.bias)
                        << format.mantissa_bits));
  // The addition rounds at the last bit of `large`, which is the least element.
  const Value small = b.Bitcast(magnitude, Elem::kF32);
  const Value large = IrBuilder::Float(
      small.type,
      std::ldexp(1.0, kMantissaBits + 1 - format.bias - format.mantissa_bits));
  const Value subnormal =
      b.Binary("sub", b.Bitcast(b.Binary("fadd", small, large), Elem::kI32),
               b.Bitcast(large, Elem::kI32));
  const Value least_normal =
      constant(static_cast<uint64_t>(kBias + 1 - format.bias) << kMantissaBits);
  Value code =
      b.Select(b.Compare("ult", magnitude, least_normal), subnormal, normal);
  const Value nan = constant(format.nan());
  const uint64_t overflow = !format.has_nan()       ? format.largest()
                            : format.has_infinity() ? format.infinity()
                                                    : format.nan();
  code = b.Select(b.Compare("ugt", code, constant(format.largest())),
                  constant(overflow), code);
  code = b.Select(b.Compare("ugt", magnitude, constant(kInfBits)), nan, code);
  if (!format.has_negative_zero()) {
    sign = b.Select(b.Compare("eq", code, constant(0)), code, sign);
  }
  return b.Convert("trunc", b.Binary("or", code, sign), Elem::kI8);
}

}  // namespace encore::backends::cpu
