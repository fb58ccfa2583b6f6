// The formats of the float dtypes (float_formats.def), and conversions between
// f64 and the bits of the narrower ones.
//
// Narrowing rounds to nearest, ties to even, as IEEE 754 says, and keeps NaN a
// NaN. What is beyond the largest finite value overflows: to infinity where the
// format has one, else to NaN; or it saturates, infinities too, to the largest
// finite value on request, which is what ONNX's cases expect of its Cast (its
// table has NaN for the infinities of two formats). Where the format has no
// negative zero, what rounds to it is 0. Formats without NaN always saturate,
// and a NaN becomes a negative zero there. The powers of two that have no sign
// round halfway values up and values below the least one to that; what is not
// positive is NaN there.
#ifndef ENCORE_IR_TYPES_FLOAT_FORMATS_H_
#define ENCORE_IR_TYPES_FLOAT_FORMATS_H_

#include <cstdint>

#include "encore/ir/types/dtype.h"

namespace encore {

enum class FloatSpecials : uint8_t {
  // As IEEE 754 has them: all bits of the exponent set; infinity with no bit of
  // the mantissa set, else NaN.
  kInfinityAndNan,
  // All bits of exponent and mantissa set are NaN ("FN").
  kNan,
  // One NaN, which has the bits of a negative zero ("FNUZ").
  kNanForNegativeZero,
  // None: every pattern is a number.
  kFinite,
  // No sign, no zero and no subnormals; all bits set are NaN.
  kNanUnsigned,
};

// A binary format of sign, exponent and mantissa bits.
struct FloatFormat {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  int bias = 0;
  FloatSpecials specials = FloatSpecials::kInfinityAndNan;

  bool has_infinity() const {
    return specials == FloatSpecials::kInfinityAndNan;
  }
  bool has_nan() const { return specials != FloatSpecials::kFinite; }
  bool has_sign() const { return specials != FloatSpecials::kNanUnsigned; }
  bool has_zero() const { return has_sign(); }
  bool has_negative_zero() const {
    return has_sign() && specials != FloatSpecials::kNanForNegativeZero;
  }
  // Of a format without one the bit above its own.
  uint64_t sign_bit() const {
    return uint64_t{1} << (exponent_bits + mantissa_bits);
  }
  // The bits of the largest finite value.
  uint64_t largest() const;
  // Those of infinity; REQUIRES has_infinity().
  uint64_t infinity() const;
  // Those of the NaN that conversions give, which then get the sign of what was
  // converted where there is a negative zero; of what a NaN becomes where there
  // is none.
  uint64_t nan() const;
};

// REQUIRES a float dtype.
const FloatFormat& FormatOf(DType dtype);

// The value of the element of type `dtype` whose bits are the low bits of
// `bits`; REQUIRES a float dtype of at most 16 bits. Exact; a NaN is quiet and
// keeps the sign bit.
float DecodeFloat(DType dtype, uint16_t bits);

// The bits nearest to `value`; REQUIRES as above. A double is rounded once.
uint16_t EncodeFloat(DType dtype, double value, bool saturate = false);

// `value` rounded to what an element of float type `dtype` can hold.
double RoundToDType(DType dtype, double value);

// The largest finite value of float type `dtype`.
double LargestFinite(DType dtype);

// What no value of float type `dtype` is above: infinity where it has one, else
// the largest finite value.
double UpperLimit(DType dtype);

// Bits of the significand of float type `dtype`, the leading one included: 24
// for f32.
int SignificandBits(DType dtype);

// The distance from 1 to the next element of float type `dtype`: 2^-23 for f32.
double Epsilon(DType dtype);

}  // namespace encore

#endif  // ENCORE_IR_TYPES_FLOAT_FORMATS_H_
