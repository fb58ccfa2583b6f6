#include "encore/ir/types/literal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "encore/ir/types/float_formats.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

TEST(Literal, KeepsValuesOfEveryDType) {
  for (const DType dtype : AllDTypes()) {
    if (IsString(dtype)) continue;
    Literal literal(dtype, {3});
    const int64_t expected = dtype == DType::kBool ? 1
                             : IsSigned(dtype)     ? -2
                                                   : 2;
    literal.SetInt(1, expected);
    EXPECT_EQ(literal.AsInt(1), expected) << dtype;
    EXPECT_EQ(literal.AsDouble(1), static_cast<double>(expected)) << dtype;
    EXPECT_EQ(literal.AsInt(0), 0) << dtype;
    EXPECT_EQ(literal.AsInt(2), 0) << dtype;
  }
}

TEST(Literal, FloatsBecomeTheNearestInteger) {
  Literal x(DType::kF64, {5});
  const double values[] = {NAN, INFINITY, -INFINITY, 1e300, -2.9};
  const int64_t integers[] = {0, INT64_MAX, INT64_MIN, INT64_MAX, -2};
  Literal unsigned_x(DType::kU64, {5});
  const uint64_t naturals[] = {0, UINT64_MAX, 0, UINT64_MAX, 0};
  for (int i = 0; i < 5; ++i) {
    x.SetDouble(i, values[i]);
    EXPECT_EQ(x.AsInt(i), integers[i]) << values[i];
    unsigned_x.SetDouble(i, values[i]);
    EXPECT_EQ(static_cast<uint64_t>(unsigned_x.AsInt(i)), naturals[i]);
  }
}

TEST(Literal, MapRefusesAnotherSize) {
  const std::byte bytes[8] = {};
  EXPECT_TRUE(Literal::Map(DType::kF32, {2}, bytes, nullptr).ok());
  EXPECT_FALSE(Literal::Map(DType::kF32, {3}, bytes, nullptr).ok());
  EXPECT_FALSE(Literal::Map(DType::kF32, {-1}, bytes, nullptr).ok());
  EXPECT_FALSE(Literal::Map(DType::kF64, {INT64_MAX, 2}, bytes, nullptr).ok());
  EXPECT_FALSE(Literal::Map(DType::kString, {1}, bytes, nullptr).ok());
}

TEST(Literal, UnalignedBytesAreReadAndCopied) {
  std::byte bytes[9] = {};
  const float value = 1.5f;
  std::memcpy(bytes + 1, &value, 4);
  const auto literal = Literal::Map(
      DType::kF32, {2}, std::span<const std::byte>(bytes + 1, 8), nullptr);
  ASSERT_TRUE(literal.ok());
  EXPECT_EQ(literal->AsDouble(0), 1.5);
  EXPECT_EQ(literal->Aligned().values<float>()[0], 1.5f);
  EXPECT_EQ(literal->Aligned(), *literal);
}

TEST(Literal, ElementsOfSequencesAndOptionalsAreAlignedToo) {
  std::byte bytes[9] = {};
  const Literal unaligned = *Literal::Map(
      DType::kI32, {2}, std::span<const std::byte>(bytes + 1, 8), nullptr);
  const Literal given = Literal::Optional(Literal::Sequence(
      DType::kI32, {Literal::FromValues<int32_t>({1}, {1}), unaligned}));
  const Literal aligned = given.Aligned();
  EXPECT_EQ(aligned, given);
  EXPECT_EQ(aligned.elements()[0].elements()[1].values<int32_t>()[1], 0);
  const Literal absent = Literal::Absent(DType::kI32, ValueKind::kOptional);
  EXPECT_EQ(absent.Aligned(), absent);
}

TEST(Literal, UnusedBitsOfPackedElementsDoNotCount) {
  for (const DType dtype : {DType::kI4, DType::kU4, DType::kF4E2M1}) {
    const std::byte clean[] = {std::byte{0x21}, std::byte{0x03}};
    const std::byte stray[] = {std::byte{0x21}, std::byte{0xf3}};
    const Literal a = *Literal::Copy(dtype, {3}, clean);
    const Literal b = *Literal::Map(dtype, {3}, stray, nullptr);
    EXPECT_EQ(a, b);
    EXPECT_EQ(b, a);
    EXPECT_EQ(a.Fingerprint(), b.Fingerprint());
    EXPECT_EQ(b.Canonical().bytes()[1], clean[1]);
    // With an even count every bit counts.
    EXPECT_NE(*Literal::Copy(dtype, {4}, clean),
              *Literal::Copy(dtype, {4}, stray));
    const Literal odd = *Literal::Copy(dtype, {1}, {stray + 1, 1});
    EXPECT_NE(odd, *Literal::Copy(dtype, {1}, {clean, 1}));
    EXPECT_EQ(*Literal::Copy(dtype, {0}, {}), *Literal::Copy(dtype, {0}, {}));
  }
}

// What the standards say of an 8-bit format, and its values by definition.
struct Format8 {
  DType dtype;
  int mantissa_bits, bias;
  double largest, least;
  // Patterns without a sign of infinity (0: none) and of NaN; a NaN in place of
  // -0 where there is none.
  int infinity;
  std::vector<int> nans;
};

const Format8 kFormats8[] = {
    {DType::kF8E4M3, 3, 7, 448, 0x1p-9, 0, {0x7f}},
    {DType::kF8E5M2, 2, 15, 57344, 0x1p-16, 0x7c, {0x7d, 0x7e, 0x7f}},
    {DType::kF8E4M3FNUZ, 3, 8, 240, 0x1p-10, 0, {}},
    {DType::kF8E5M2FNUZ, 2, 16, 57344, 0x1p-17, 0, {}},
};

double ValueOf(const Format8& format, int bits) {
  const int magnitude = bits & 0x7f;
  const double sign = bits > 0x7f ? -1 : 1;
  const bool nan = format.nans.empty()
                       ? bits == 0x80
                       : std::ranges::count(format.nans, magnitude) > 0;
  if (nan) return NAN;
  if (format.infinity != 0 && magnitude == format.infinity) {
    return sign * INFINITY;
  }
  const int exponent = magnitude >> format.mantissa_bits;
  const double fraction = (magnitude % (1 << format.mantissa_bits)) /
                          std::pow(2, format.mantissa_bits);
  return sign * (exponent == 0
                     ? fraction * std::pow(2, 1 - format.bias)
                     : (1 + fraction) * std::pow(2, exponent - format.bias));
}

// By a search over all patterns: the nearest value, of two as near the one with
// an even pattern; what would be behind the largest takes part.
int NearestBits(const Format8& format, const std::array<double, 256>& values,
                double value, bool saturate) {
  const bool one_zero = format.nans.empty();
  const int sign = std::signbit(value) ? 0x80 : 0;
  const int nan = one_zero ? 0x80 : sign | format.nans[format.nans.size() / 2];
  if (std::isnan(value)) return nan;
  int largest = 0;
  double best = INFINITY;
  int nearest = 0;
  const auto offer = [&](int bits, double candidate) {
    const double distance = std::fabs(std::fabs(value) - candidate);
    if (distance > best || (distance == best && bits % 2 != 0)) return;
    best = distance;
    nearest = bits;
  };
  for (int bits = 0; bits < 0x80 && std::isfinite(values[bits]); ++bits) {
    offer(bits, values[bits]);
    largest = bits;
  }
  offer(largest + 1, 2 * values[largest] - values[largest - 1]);
  if (nearest > largest || std::isinf(value)) {
    if (saturate) return sign | largest;
    return format.infinity != 0 ? sign | format.infinity : nan;
  }
  return nearest == 0 && one_zero ? 0 : sign | nearest;
}

std::array<double, 256> ValuesOf(const Format8& format) {
  std::array<double, 256> values;
  for (int bits = 0; bits < 256; ++bits) values[bits] = ValueOf(format, bits);
  return values;
}

TEST(FloatFormats, EveryByteHasTheValueOfItsDefinition) {
  for (const Format8& format : kFormats8) {
    EXPECT_EQ(LargestFinite(format.dtype), format.largest) << format.dtype;
    EXPECT_EQ(UpperLimit(format.dtype),
              format.infinity != 0 ? INFINITY : format.largest);
    EXPECT_EQ(DecodeFloat(format.dtype, 1), format.least) << format.dtype;
    for (int bits = 0; bits < 256; ++bits) {
      const float value =
          DecodeFloat(format.dtype, static_cast<uint16_t>(bits));
      const double wanted = ValueOf(format, bits);
      EXPECT_EQ(std::isnan(value), std::isnan(wanted))
          << format.dtype << " " << bits;
      // The NaN in the place of a negative zero has no sign.
      const bool signed_zero = EncodeFloat(format.dtype, -0.0) != 0;
      const bool negative = bits > 0x7f && (signed_zero || !std::isnan(wanted));
      EXPECT_EQ(std::signbit(value), negative) << format.dtype << " " << bits;
      if (std::isnan(wanted)) continue;
      EXPECT_EQ(value, wanted) << format.dtype << " " << bits;
      EXPECT_EQ(EncodeFloat(format.dtype, value), bits) << format.dtype;
    }
  }
}

TEST(FloatFormats, EveryF16BecomesTheNearestByte) {
  for (const Format8& format : kFormats8) {
    const std::array<double, 256> values = ValuesOf(format);
    for (int half = 0; half < 0x10000; ++half) {
      const float value = DecodeFloat(DType::kF16, static_cast<uint16_t>(half));
      for (const bool saturate : {false, true}) {
        ASSERT_EQ(EncodeFloat(format.dtype, value, saturate),
                  NearestBits(format, values, value, saturate))
            << format.dtype << " " << value << " " << saturate;
      }
    }
  }
}

// Where f16 has no values: beyond its range, and close to ties.
TEST(FloatFormats, DoublesBecomeTheNearestByte) {
  std::mt19937_64 random(8);
  for (const Format8& format : kFormats8) {
    const std::array<double, 256> values = ValuesOf(format);
    for (int i = 0; i < 20000; ++i) {
      double value = std::ldexp(static_cast<double>(random() % 64),
                                static_cast<int>(random() % 50) - 30);
      if (i % 3 != 0) value = std::nextafter(value, i % 3 == 1 ? 0 : 1e300);
      if (i % 2 != 0) value = -value;
      for (const bool saturate : {false, true}) {
        ASSERT_EQ(EncodeFloat(format.dtype, value, saturate),
                  NearestBits(format, values, value, saturate))
            << format.dtype << " " << value << " " << saturate;
      }
    }
  }
}

// Of 16 bits: against the neighbours on both sides of each midpoint.
TEST(FloatFormats, EncodeFindsTheNearestValue) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const int patterns = 1 << (BitWidth(dtype) - 1);
    std::vector<std::pair<double, uint16_t>> finite;
    for (int bits = 0; bits < patterns; ++bits) {
      const float value = DecodeFloat(dtype, static_cast<uint16_t>(bits));
      if (std::isfinite(value)) finite.emplace_back(value, bits);
      EXPECT_EQ(EncodeFloat(dtype, value),
                std::isnan(value) ? EncodeFloat(dtype, NAN) : bits);
    }
    for (size_t i = 1; i < finite.size(); ++i) {
      const auto [low, low_bits] = finite[i - 1];
      const auto [high, high_bits] = finite[i];
      const double middle = (low + high) / 2;
      EXPECT_EQ(EncodeFloat(dtype, middle),
                low_bits % 2 ? high_bits : low_bits);
      EXPECT_EQ(EncodeFloat(dtype, std::nextafter(middle, 0)), low_bits);
      EXPECT_EQ(EncodeFloat(dtype, std::nextafter(middle, INFINITY)),
                high_bits);
    }
    EXPECT_EQ(DecodeFloat(dtype, EncodeFloat(dtype, 1e300, true)),
              finite.back().first);
  }
}

// Without infinity and NaN; values as the specification of the MX formats lists
// them.
struct FiniteFormat {
  DType dtype;
  std::vector<double> values;  // of the patterns without a sign
};

std::vector<FiniteFormat> FiniteFormats() {
  std::vector<double> e2m3, e3m2;
  for (int m = 0; m < 8; ++m) e2m3.push_back(m / 8.0);
  for (int e = 1; e < 4; ++e) {
    for (int m = 0; m < 8; ++m) e2m3.push_back((1 + m / 8.0) * (1 << (e - 1)));
  }
  for (int m = 0; m < 4; ++m) e3m2.push_back(m / 16.0);
  for (int e = 1; e < 8; ++e) {
    for (int m = 0; m < 4; ++m) e3m2.push_back((1 + m / 4.0) * (1 << e) / 8);
  }
  return {{DType::kF4E2M1, {0, 0.5, 1, 1.5, 2, 3, 4, 6}},
          {DType::kF6E2M3, e2m3},
          {DType::kF6E3M2, e3m2}};
}

TEST(FloatFormats, FiniteFormatsSaturate) {
  for (const auto& [dtype, values] : FiniteFormats()) {
    const int sign = static_cast<int>(values.size());
    EXPECT_EQ(LargestFinite(dtype), values.back()) << dtype;
    EXPECT_EQ(UpperLimit(dtype), values.back()) << dtype;
    for (int bits = 0; bits < sign; ++bits) {
      const auto negative = static_cast<uint16_t>(bits | sign);
      EXPECT_EQ(DecodeFloat(dtype, static_cast<uint16_t>(bits)), values[bits]);
      EXPECT_EQ(DecodeFloat(dtype, negative), -values[bits]);
      EXPECT_TRUE(std::signbit(DecodeFloat(dtype, negative))) << dtype;
    }
    for (int half = 0; half < 0x10000; ++half) {
      const float value = DecodeFloat(DType::kF16, static_cast<uint16_t>(half));
      int nearest = 0;
      for (int bits = 1; bits < sign; ++bits) {
        const double old = std::fabs(std::fabs(value) - values[nearest]);
        const double now = std::fabs(std::fabs(value) - values[bits]);
        if (now < old || (now == old && bits % 2 == 0)) nearest = bits;
      }
      if (std::isinf(value)) nearest = sign - 1;
      const int expected =
          std::isnan(value) ? sign : nearest | (std::signbit(value) ? sign : 0);
      ASSERT_EQ(EncodeFloat(dtype, value), expected) << dtype << " " << value;
      ASSERT_EQ(EncodeFloat(dtype, value, true), expected) << dtype;
    }
  }
}

// Powers of two from 2^-127 to 2^127. Expected: ml_dtypes' float8_e8m0fnu, but
// for what is below the least one.
TEST(FloatFormats, ScalesArePowersOfTwo) {
  constexpr DType kScale = DType::kF8E8M0;
  for (int bits = 0; bits < 255; ++bits) {
    const float value = DecodeFloat(kScale, static_cast<uint16_t>(bits));
    EXPECT_EQ(value, std::ldexp(1.0, bits - 127));
    EXPECT_EQ(EncodeFloat(kScale, value), bits);
    // Halfway values go up.
    const double middle = 1.5 * value;
    EXPECT_EQ(EncodeFloat(kScale, std::nextafter(middle, 0)), bits);
    EXPECT_EQ(EncodeFloat(kScale, middle), bits + 1);
    EXPECT_EQ(EncodeFloat(kScale, middle, true), std::min(bits + 1, 254));
  }
  EXPECT_TRUE(std::isnan(DecodeFloat(kScale, 255)));
  constexpr double kNone[] = {0.0, -0.0, -1.0, -INFINITY, NAN};
  for (const double none : kNone) {
    EXPECT_EQ(EncodeFloat(kScale, none), 255) << none;
    EXPECT_EQ(EncodeFloat(kScale, none, true), 255) << none;
  }
  EXPECT_EQ(EncodeFloat(kScale, INFINITY), 255);
  EXPECT_EQ(EncodeFloat(kScale, INFINITY, true), 254);
  EXPECT_EQ(EncodeFloat(kScale, 1e-300), 0);
}

TEST(FloatFormats, EpsilonIsTheStepAboveOne) {
  for (const DType dtype : AllDTypes()) {
    if (!IsFloat(dtype)) continue;
    if (dtype == DType::kF8E8M0) continue;  // rounds halfway values up
    const double epsilon = Epsilon(dtype);
    EXPECT_EQ(RoundToDType(dtype, 1 + epsilon), 1 + epsilon) << dtype;
    EXPECT_EQ(RoundToDType(dtype, 1 + epsilon / 2), 1) << dtype;
  }
}

}  // namespace
}  // namespace encore
