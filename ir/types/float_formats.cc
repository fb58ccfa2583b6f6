#include "encore/ir/types/float_formats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "encore/ir/support/check.h"

namespace encore {
namespace {

// The value of a finite element without its sign; exact.
double Magnitude(const FloatFormat& format, uint64_t bits) {
  const uint64_t hidden = uint64_t{1} << format.mantissa_bits;
  const auto field = static_cast<int>(bits >> format.mantissa_bits);
  const uint64_t mantissa = bits & (hidden - 1);
  if (!format.has_zero()) return std::ldexp(1.0, field - format.bias);
  // Subnormals have the exponent of the field 1 and no hidden bit.
  return std::ldexp(static_cast<double>(mantissa | (field > 0 ? hidden : 0)),
                    std::max(field, 1) - format.bias - format.mantissa_bits);
}

bool IsNan(const FloatFormat& format, uint64_t magnitude, bool negative) {
  switch (format.specials) {
    case FloatSpecials::kInfinityAndNan:
      return magnitude > format.infinity();
    case FloatSpecials::kNan:
    case FloatSpecials::kNanUnsigned:
      return magnitude == format.nan();
    case FloatSpecials::kNanForNegativeZero:
      return negative && magnitude == 0;
    case FloatSpecials::kFinite:
      return false;
  }
  return false;
}

// The exponent nearest to `value`, halfway ones up.
uint16_t EncodeExponent(const FloatFormat& format, double value,
                        bool saturate) {
  const auto nan = static_cast<uint16_t>(format.nan());
  if (!(value > 0)) return nan;
  const auto largest = static_cast<int>(format.largest());
  if (std::isinf(value)) {
    return saturate ? static_cast<uint16_t>(largest) : nan;
  }
  int exponent;
  const double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  const int code = exponent - 1 + format.bias + (fraction >= 0.75 ? 1 : 0);
  if (code > largest) return saturate ? static_cast<uint16_t>(largest) : nan;
  return static_cast<uint16_t>(std::max(code, 0));
}

const FloatFormat& NarrowFormat(DType dtype) {
  ENCORE_CHECK(IsFloat(dtype) && BitWidth(dtype) <= 16)
      << "no narrow float format: " << Name(dtype);
  return FormatOf(dtype);
}

}  // namespace

uint64_t FloatFormat::infinity() const {
  return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
}

uint64_t FloatFormat::largest() const {
  switch (specials) {
    case FloatSpecials::kInfinityAndNan:
      return infinity() - 1;
    case FloatSpecials::kNan:
    case FloatSpecials::kNanUnsigned:
      return sign_bit() - 2;
    case FloatSpecials::kNanForNegativeZero:
    case FloatSpecials::kFinite:
      break;
  }
  return sign_bit() - 1;
}

uint64_t FloatFormat::nan() const {
  switch (specials) {
    case FloatSpecials::kInfinityAndNan:
      return infinity() | uint64_t{1} << (mantissa_bits - 1);
    case FloatSpecials::kNan:
    case FloatSpecials::kNanUnsigned:
      return sign_bit() - 1;
    case FloatSpecials::kNanForNegativeZero:
    case FloatSpecials::kFinite:
      break;
  }
  return sign_bit();
}

const FloatFormat& FormatOf(DType dtype) {
  switch (dtype) {
#define ENCORE_FLOAT_FORMAT(Enumerator, exponent, mantissa, bias, specials) \
  case DType::k##Enumerator: {                                              \
    static constexpr FloatFormat kFormat = {exponent, mantissa, bias,       \
                                            FloatSpecials::specials};       \
    return kFormat;                                                         \
  }
#include "encore/ir/types/float_formats.def"
#undef ENCORE_FLOAT_FORMAT
    default:
      break;
  }
  ENCORE_CHECK(false) << "no float format: " << Name(dtype);
  static constexpr FloatFormat kNone = {};
  return kNone;
}

float DecodeFloat(DType dtype, uint16_t bits) {
  const FloatFormat& format = NarrowFormat(dtype);
  const bool negative = (bits & format.sign_bit()) != 0;
  const float sign = negative ? -1.0f : 1.0f;
  const uint64_t magnitude = bits & (format.sign_bit() - 1);
  if (IsNan(format, magnitude, negative)) {
    // One that stands for the negative zero has no sign.
    const float nan = std::numeric_limits<float>::quiet_NaN();
    return format.has_negative_zero() ? std::copysign(nan, sign) : nan;
  }
  if (format.has_infinity() && magnitude == format.infinity()) {
    return sign * std::numeric_limits<float>::infinity();
  }
  return sign * static_cast<float>(Magnitude(format, magnitude));
}

uint16_t EncodeFloat(DType dtype, double value, bool saturate) {
  const FloatFormat& format = NarrowFormat(dtype);
  if (!format.has_sign()) return EncodeExponent(format, value, saturate);
  const uint64_t sign = std::signbit(value) ? format.sign_bit() : 0;
  const auto with_sign = [&](uint64_t magnitude) {
    const bool unsigned_zero = magnitude == 0 && !format.has_negative_zero();
    return static_cast<uint16_t>(unsigned_zero ? 0 : sign | magnitude);
  };
  if (std::isnan(value)) return static_cast<uint16_t>(sign | format.nan());
  const double magnitude = std::fabs(value);
  const uint64_t overflow = saturate || !format.has_nan() ? format.largest()
                            : format.has_infinity()       ? format.infinity()
                                                          : format.nan();
  if (std::isinf(magnitude)) return with_sign(overflow);
  if (magnitude == 0) return with_sign(0);
  // The value in units of its last place; subnormals share the smallest unit.
  const int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
  const double units =
      std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  // Adding the units to the exponent field carries into it where rounding
  // overflowed the mantissa, and leaves the field 0 for subnormals.
  const uint64_t hidden = uint64_t{1} << format.mantissa_bits;
  const auto field = static_cast<uint64_t>(exponent + format.bias - 1);
  const uint64_t bits = field * hidden + static_cast<uint64_t>(units);
  return with_sign(bits > format.largest() ? overflow : bits);
}

double RoundToDType(DType dtype, double value) {
  if (dtype == DType::kF64) return value;
  if (dtype == DType::kF32) return static_cast<float>(value);
  return DecodeFloat(dtype, EncodeFloat(dtype, value));
}

double LargestFinite(DType dtype) {
  const FloatFormat& format = FormatOf(dtype);
  return Magnitude(format, format.largest());
}

double UpperLimit(DType dtype) {
  return FormatOf(dtype).has_infinity()
             ? std::numeric_limits<double>::infinity()
             : LargestFinite(dtype);
}

int SignificandBits(DType dtype) { return FormatOf(dtype).mantissa_bits + 1; }

double Epsilon(DType dtype) {
  return std::ldexp(1.0, 1 - SignificandBits(dtype));
}

}  // namespace encore
