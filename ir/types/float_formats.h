// Conversions between float and the bits of the narrower float formats.
//
// Narrowing rounds to nearest, ties to even, as IEEE 754 says, and keeps NaN a
// NaN. f16 and bf16 overflow to infinity. f8e5m2 is IEEE-like (has infinities);
// f8e4m3 is the "FN" form of the OCP 8-bit format: no infinity, one NaN per
// sign, largest value 448; what is beyond overflows to NaN, or saturates to the
// largest value on request.
//
// Source: OCP 8-bit Floating Point Specification, revision 1.0, tables 1 and 2.
#ifndef ENCORE_IR_TYPES_FLOAT_FORMATS_H_
#define ENCORE_IR_TYPES_FLOAT_FORMATS_H_

#include <cstdint>

#include "encore/ir/types/dtype.h"

namespace encore {

// The value of the element of type `dtype` whose bits are the low bits of
// `bits`; REQUIRES a float dtype of at most 16 bits. Exact.
float DecodeFloat(DType dtype, uint16_t bits);

// The bits nearest to `value`; REQUIRES as above. A double is rounded once.
uint16_t EncodeFloat(DType dtype, double value, bool saturate = false);

// `value` rounded to what an element of float type `dtype` can hold.
double RoundToDType(DType dtype, double value);

// Bits of the significand of float type `dtype`, the leading one included: 24
// for f32.
int SignificandBits(DType dtype);

// The distance from 1 to the next element of float type `dtype`: 2^-23 for f32.
double Epsilon(DType dtype);

}  // namespace encore

#endif  // ENCORE_IR_TYPES_FLOAT_FORMATS_H_
