#include "encore/ir/types/literal.h"

#include <cmath>
#include <limits>

#include "encore/ir/types/float_formats.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

TEST(Literal, KeepsValuesOfEveryDType) {
  for (const DType dtype : AllDTypes()) {
    if (IsString(dtype)) continue;
    Literal literal(dtype, {3});
    const int64_t expected = dtype == DType::kBool ? 1
                             : IsSigned(dtype)     ? -3
                                                   : 3;
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

TEST(Literal, UnusedBitsOfPackedElementsDoNotCount) {
  for (const DType dtype : {DType::kI4, DType::kU4}) {
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

// Encoding is checked against a search over all patterns: the nearest value,
// the one with an even mantissa where two are as near.
TEST(FloatFormats, EncodeFindsTheNearestValue) {
  for (const DType dtype :
       {DType::kF8E4M3, DType::kF8E5M2, DType::kF16, DType::kBF16}) {
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
  EXPECT_EQ(DecodeFloat(DType::kF8E4M3, EncodeFloat(DType::kF8E4M3, 1e9, true)),
            448);
  EXPECT_TRUE(std::isnan(
      DecodeFloat(DType::kF8E4M3, EncodeFloat(DType::kF8E4M3, 1e9))));
}

TEST(FloatFormats, EpsilonIsTheStepAboveOne) {
  for (const DType dtype : AllDTypes()) {
    if (!IsFloat(dtype)) continue;
    const double epsilon = Epsilon(dtype);
    EXPECT_EQ(RoundToDType(dtype, 1 + epsilon), 1 + epsilon) << dtype;
    EXPECT_EQ(RoundToDType(dtype, 1 + epsilon / 2), 1) << dtype;
  }
}

}  // namespace
}  // namespace encore
