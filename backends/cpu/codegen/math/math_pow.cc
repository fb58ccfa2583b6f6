#include <array>
#include <cmath>

#include "encore/backends/cpu/codegen/math/math.h"

namespace encore::backends::cpu {
namespace {

constexpr double kInf = INFINITY;
constexpr double kLn2 = 0.693147180559945309;

// log2(m) = 2 / ln 2 (f + f^3/3 + f^5/5 + …), f = (m - 1) / (m + 1): |f| <
// 0.172, so that what is left out is below 2^-39 of it.
constexpr std::array kLogarithm = {1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7,
                                   1.0 / 5,  1.0 / 3,  1.0};
// e^w for |w| <= ln(2) / 2: what is left out is below 2^-37 of it.
constexpr std::array kExponential = {
    1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
    1.0 / 24,     1.0 / 6,     1.0 / 2,    1.0,       1.0};

}  // namespace

// size^y for a size that is no NaN, of which the sign does not count, as
// 2^(y log2 size). In f64: an error of the logarithm counts up to 150 times.
// NaN of NaN; where size is 0 or infinite and y is 0 anything.
Value MathEmitter::PowOf(const Value& size, const Value& y) {
  const auto [m32, e32] = SplitOf(size);
  const Value m = b.Convert("fpext", m32, Elem::kF64);
  const Value e = b.Convert("fpext", e32, Elem::kF64);
  const Value one = Const(m, 1.0);
  const Value f =
      b.Binary("fdiv", b.Binary("fsub", m, one), b.Binary("fadd", m, one));
  const Value series = Polynomial(b.Binary("fmul", f, f), kLogarithm);
  Value log2 = b.Fma(b.Binary("fmul", f, Const(f, 2 / kLn2)), series, e);
  log2 = b.Select(b.Compare("oeq", size, Const(size, 0)), Const(log2, -kInf),
                  log2);
  log2 = b.Select(b.Compare("oeq", size, Const(size, kInf)), Const(log2, kInf),
                  log2);
  Value t = b.Binary("fmul", b.Convert("fpext", y, Elem::kF64), log2);
  // Of an infinite y, too.
  t = b.Select(b.Compare("oeq", size, Const(size, 1.0)), Const(t, 0), t);
  // Beyond these an f32 is 0 or infinite; the comparisons keep NaN.
  const Value low = Const(t, -160.0), high = Const(t, 160.0);
  t = b.Select(b.Compare("olt", t, low), low, t);
  t = b.Select(b.Compare("ogt", t, high), high, t);
  // The sum of t and a number whose last bit is worth 1 has the exponent of 2^t
  // in its last bits.
  constexpr double kLastBitIsOne = 0x1.8p52 + 1023;
  const Value shift = Const(t, kLastBitIsOne);
  const Value shifted = b.Binary("fadd", t, shift);
  const Value n = b.Binary("fsub", shifted, shift);
  const Value bits = b.Bitcast(shifted, Elem::kI64);
  const Value power = b.Bitcast(
      b.Binary("shl", bits, IrBuilder::Int(bits.type, 52)), Elem::kF64);
  const Value rest = Polynomial(
      b.Binary("fmul", b.Binary("fsub", t, n), Const(t, kLn2)), kExponential);
  return b.Convert("fptrunc", b.Binary("fmul", rest, power), Elem::kF32);
}

Value MathEmitter::Pow(const Value& x, const Value& y) {
  if (x.type.elem != Elem::kF32) return Helper(MathFunction::kPow, x, y);
  const Value zero = Const(x, 0), one = Const(x, 1.0), nan = Const(x, NAN);
  Value result = PowOf(b.Intrinsic("fabs", {x}), y);
  // An even y, or an infinite one, is twice an integer.
  const auto is_integer = [&](const Value& value) {
    return b.Compare("oeq", b.Intrinsic("rint", {value}), value);
  };
  const Value integer = is_integer(y);
  const Value even = is_integer(b.Binary("fmul", y, Const(y, 0.5)));
  const Value signed_result = b.Select(
      integer, b.Select(even, result, b.Unary("fneg", result)), result);
  const Value bits = b.Bitcast(x, Elem::kI32);
  result = b.Select(b.Compare("slt", bits, IrBuilder::Zero(bits.type)),
                    signed_result, result);
  const Value negative = b.Binary("and", b.Compare("olt", x, zero),
                                  b.Compare("one", x, Const(x, -kInf)));
  result = b.Select(integer, result, b.Select(negative, nan, result));
  result = b.Select(b.Compare("uno", x, y), nan, result);
  const Value is_one =
      b.Binary("or", b.Compare("oeq", x, one), b.Compare("oeq", y, zero));
  return b.Select(is_one, one, result);
}

}  // namespace encore::backends::cpu
