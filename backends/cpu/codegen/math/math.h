// Elementary functions, and conversions of narrow floats, as vector code.
//
// f32 functions marked "own" below are polynomials, within 4 ulp over all of
// f32 (math_test.cc measures them); infinities, NaN and signed zeros come out
// as the C library has them. The others, and all of f64, call the C library's
// f64 function lane by lane through the helper table, so they are exact to
// about 0.5 ulp in f32 and 1 ulp in f64.
//
//   own: exp expm1 log log1p tanh erf logistic sin cos pow; sin and cos beyond
//        |x| = 30000 go through the helper
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_MATH_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_MATH_H_

#include <span>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/cpu/helpers.h"
#include "encore/ir/types/float_formats.h"

namespace encore::backends::cpu {

// All take and give floats, f32 or f64, of any number of lanes. `helpers` is
// the pointer to the HelperTable.
struct MathEmitter {
  IrBuilder& b;
  Value helpers;

  Value Exp(const Value& x);
  // Of an f32 x that is NaN or not above 0, in fewer instructions; 0 where the
  // result is no normal number.
  Value ExpOfNegative(const Value& x);
  Value Expm1(const Value& x);
  Value Log(const Value& x);
  Value Log1p(const Value& x);
  Value Tanh(const Value& x);
  Value Erf(const Value& x);
  Value Logistic(const Value& x);
  Value Sin(const Value& x);
  Value Cos(const Value& x);
  Value Pow(const Value& x, const Value& y);
  // Any function of the table; `y` is ignored by those of one operand.
  Value Helper(MathFunction function, const Value& x, const Value& y);

 private:
  Value Const(const Value& like, double value);
  // c[0] x^(n-1) + … + c[n-1], Horner with fma.
  Value Polynomial(const Value& x, std::span<const double> c);
  Value Scale(const Value& x, const Value& exponent);
  // e^x = 2^exponent (1 + rest).
  struct Power {
    Value exponent;  // a float with an integer value
    Value rest;      // in [sqrt(1/2) - 1, sqrt(2) - 1]
  };
  // Of an f32 `x`, taken as `least` or 89 beyond these.
  Power PowerOfE(const Value& x, double least);
  // x = m 2^e for an f32 x above 0.
  struct Split {
    Value m;  // in [sqrt(1/2), sqrt(2))
    Value e;  // a float with an integer value
  };
  Split SplitOf(const Value& x);
  Value LogOf(const Value& x, const Value* correction);
  Value PowOf(const Value& size, const Value& y);
  Value SinCos(const Value& x, int quadrant, MathFunction far);
};

// An element of `format`, of at most 8 bits, from its bits in an i8 to f32, as
// DecodeFloat gives it, and back, as EncodeFloat does: integer operations in
// every lane, without branches.
Value DecodeNarrow(IrBuilder& b, const FloatFormat& format, const Value& bits);
Value EncodeNarrow(IrBuilder& b, const FloatFormat& format, const Value& value);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_MATH_H_
