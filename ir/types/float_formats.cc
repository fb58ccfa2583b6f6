#include "encore/ir/types/float_formats.h"

#include <bit>
#include <cmath>
#include <limits>

#include "encore/ir/support/check.h"

namespace encore {
namespace {

// A binary format of sign, exponent and mantissa bits.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int max_exponent_field() const { return (1 << exponent_bits) - 1; }
  uint32_t sign_bit() const { return 1u << (exponent_bits + mantissa_bits); }
  // Bits of the largest finite value, infinity and NaN without their sign.
  // Without infinity the all-ones pattern alone is NaN.
  uint32_t nan() const {
    return has_infinity ? infinity() | (1u << (mantissa_bits - 1))
                        : sign_bit() - 1;
  }
  uint32_t infinity() const {
    return static_cast<uint32_t>(max_exponent_field()) << mantissa_bits;
  }
  uint32_t largest() const {
    return has_infinity ? infinity() - 1 : sign_bit() - 2;
  }
};

Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {5, 10, true};
    case DType::kBF16:
      return {8, 7, true};
    case DType::kF8E4M3:
      return {4, 3, false};
    case DType::kF8E5M2:
      return {5, 2, true};
    default:
      ENCORE_CHECK(false) << "no narrow float format: " << Name(dtype);
      return {};
  }
}

}  // namespace

float DecodeFloat(DType dtype, uint16_t bits) {
  const Format format = FormatOf(dtype);
  const float sign = bits & format.sign_bit() ? -1.0f : 1.0f;
  const uint32_t magnitude = bits & (format.sign_bit() - 1);
  if (format.has_infinity ? magnitude > format.infinity()
                          : magnitude == format.nan()) {
    return std::copysign(std::numeric_limits<float>::quiet_NaN(), sign);
  }
  if (format.has_infinity && magnitude == format.infinity()) {
    return sign * std::numeric_limits<float>::infinity();
  }
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const uint32_t mantissa = magnitude & ((1u << format.mantissa_bits) - 1);
  if (exponent == 0) {
    return sign * std::ldexp(static_cast<float>(mantissa),
                             1 - format.bias() - format.mantissa_bits);
  }
  return sign *
         std::ldexp(static_cast<float>(mantissa | 1u << format.mantissa_bits),
                    exponent - format.bias() - format.mantissa_bits);
}

uint16_t EncodeFloat(DType dtype, double value, bool saturate) {
  const Format format = FormatOf(dtype);
  const uint32_t sign = std::signbit(value) ? format.sign_bit() : 0;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | format.nan());
  const double magnitude = std::fabs(value);
  const uint32_t overflow = saturate              ? format.largest()
                            : format.has_infinity ? format.infinity()
                                                  : format.nan();
  if (std::isinf(magnitude)) return static_cast<uint16_t>(sign | overflow);
  if (magnitude == 0) return static_cast<uint16_t>(sign);
  // The value in units of its last place; subnormals share the smallest unit.
  const int exponent = std::max(std::ilogb(magnitude), 1 - format.bias());
  const double units =
      std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  // Adding the units to the exponent field carries into it where rounding
  // overflowed the mantissa, and leaves the field 0 for subnormals.
  const uint64_t hidden = uint64_t{1} << format.mantissa_bits;
  const uint64_t field = static_cast<uint64_t>(exponent + format.bias() - 1);
  const uint64_t bits = field * hidden + static_cast<uint64_t>(units);
  if (bits > format.largest()) return static_cast<uint16_t>(sign | overflow);
  return static_cast<uint16_t>(sign | static_cast<uint32_t>(bits));
}

double RoundToDType(DType dtype, double value) {
  if (dtype == DType::kF64) return value;
  if (dtype == DType::kF32) return static_cast<float>(value);
  return DecodeFloat(dtype, EncodeFloat(dtype, value));
}

int SignificandBits(DType dtype) {
  if (dtype == DType::kF64) return 53;
  return dtype == DType::kF32 ? 24 : FormatOf(dtype).mantissa_bits + 1;
}

double Epsilon(DType dtype) {
  return std::ldexp(1.0, 1 - SignificandBits(dtype));
}

}  // namespace encore
