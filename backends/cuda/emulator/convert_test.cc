// Conversions, comparisons, half floats and approximations.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/emulator/testing/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/float_formats.h"

namespace encore::ptx {
namespace {

template <typename T>
T Clamp(double whole) {
  if (std::isnan(whole)) return 0;
  constexpr auto kLow = std::numeric_limits<T>::min();
  constexpr auto kHigh = std::numeric_limits<T>::max();
  if (whole <= static_cast<double>(kLow)) return kLow;
  if (whole >= static_cast<double>(kHigh)) return kHigh;
  return static_cast<T>(whole);
}

TEST(ConvertTest, FloatsToIntegers) {
  Check<U32, float>("cvt.rzi.s32.f32 $3, $1;", [](float a, float) {
    return static_cast<U32>(Clamp<int32_t>(std::trunc(a)));
  });
  Check<U32, float>("cvt.rni.u32.f32 $3, $1;", [](float a, float) {
    return Clamp<uint32_t>(std::nearbyint(a));
  });
  Check<U64, double>("cvt.rmi.s64.f64 $3, $1;", [](double a, double) {
    if (std::isnan(a)) return U64{1} << 63;
    return static_cast<U64>(Clamp<int64_t>(std::floor(a)));
  });
  // A register of 32 bits holds the sign of 8.
  Check<U32, float>("cvt.rpi.s8.f32 $3, $1;", [](float a, float) {
    return static_cast<U32>(int32_t{Clamp<int8_t>(std::ceil(a))});
  });
  Check<float, float>("cvt.rmi.f32.f32 $3, $1;",
                      [](float a, float) { return std::floor(a); });
}

TEST(ConvertTest, Integers) {
  Check<U32, U32>("cvt.s32.s8 $3, $1;", [](U32 a, U32) {
    return static_cast<U32>(static_cast<int8_t>(a));
  });
  Check<U32, U32>("cvt.sat.u8.s32 $3, $1;", [](U32 a, U32) {
    return static_cast<U32>(std::clamp(static_cast<int32_t>(a), 0, 255));
  });
  Check<U64, U32>("cvt.s64.s32 $3, $1;", [](U32 a, U32) {
    return static_cast<U64>(static_cast<int64_t>(static_cast<int32_t>(a)));
  });
  Check<U32, U64>("cvt.u32.u64 $3, $1;",
                  [](U64 a, U64) { return static_cast<U32>(a); });
  Check<U32, U32>("cvt.pack.sat.s16.s32 $3, $1, $2;", [](U32 a, U32 b) {
    const auto part = [](U32 v) {
      return static_cast<uint16_t>(
          std::clamp(static_cast<int32_t>(v), -32768, 32767));
    };
    return U32{part(a)} << 16 | part(b);
  });
}

TEST(ConvertTest, IntegersToFloats) {
  Check<float, U64>("cvt.rn.f32.u64 $3, $1;",
                    [](U64 a, U64) { return static_cast<float>(a); });
  Check<float, U64>("cvt.rn.f32.s64 $3, $1;", [](U64 a, U64) {
    return static_cast<float>(static_cast<int64_t>(a));
  });
  Check<double, U64>("cvt.rn.f64.u64 $3, $1;",
                     [](U64 a, U64) { return static_cast<double>(a); });
  Check<float, U32>("cvt.rz.f32.u32 $3, $1;", [](U32 a, U32) {
    const auto near = static_cast<float>(a);
    return static_cast<double>(near) > a ? std::nextafter(near, 0.0f) : near;
  });
}

TEST(ConvertTest, FloatsToFloats) {
  Check<float, double>("cvt.rn.f32.f64 $3, $1;",
                       [](double a, double) { return static_cast<float>(a); });
  Check<float, double>("cvt.rp.f32.f64 $3, $1;", [](double a, double) {
    const auto near = static_cast<float>(a);
    return near < a ? std::nextafter(near, INFINITY) : near;
  });
  Check<U16, float>("cvt.rn.f16.f32 $3, $1;", [](float a, float) {
    if (std::isnan(a)) return U16{0x7fff};
    return std::bit_cast<U16>(static_cast<_Float16>(a));
  });
  Check<U16, float>("cvt.rn.bf16.f32 $3, $1;", [](float a, float) {
    if (std::isnan(a)) return U16{0x7fff};
    const auto bits = std::bit_cast<U32>(a);
    return static_cast<U16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  });
  Check<U16, float>("cvt.rz.bf16.f32 $3, $1;", [](float a, float) {
    if (std::isnan(a)) return U16{0x7fff};
    return static_cast<U16>(std::bit_cast<U32>(a) >> 16);
  });
  Check<U32, float>("cvt.rn.f16x2.f32 $3, $1, $2;", [](float a, float b) {
    const auto half = [](float v) {
      return std::isnan(v) ? U16{0x7fff}
                           : std::bit_cast<U16>(static_cast<_Float16>(v));
    };
    return U32{half(a)} << 16 | half(b);
  });
  // Eight bits: e4m3 has no infinity, its largest value is 448.
  const std::vector<float> inputs = {0,    1,     448,     449,
                                     1e9f, -1e9f, 0x1p-9f, -1.06f};
  EXPECT_EQ((Results<U16, float>(
                "cvt.rn.satfinite.e4m3x2.f32 %rs13, %f11, %f12;", inputs)),
            (std::vector<U16>{0x0038, 0x7e7e, 0x7efe, 0x01b8}));
  Check<U32, float>("cvt.rna.tf32.f32 $3, $1;", [](float a, float) {
    if (std::isnan(a)) return 0x7fffffffu;
    const auto bits = std::bit_cast<U32>(a);
    if (std::isinf(a)) return bits;
    return (bits + 0x1000) & ~0x1fffu;
  });
}

TEST(ConvertTest, Comparisons) {
  const auto check = [](std::string_view compare, auto expected) {
    Check<U32, float>(
        StrCat("setp.", compare,
               ".f32 %p1|%p2, $1, $2; selp.u32 $3, 3, 4, %p1; "
               "@%p2 add.u32 $3, $3, 10;"),
        [&](float a, float b) { return expected(a, b) ? U32{3} : U32{14}; });
  };
  check("lt", [](float a, float b) { return a < b; });
  check("ge", [](float a, float b) { return a >= b; });
  check("ne", [](float a, float b) { return a < b || a > b; });
  check("neu", [](float a, float b) { return a != b; });
  check("ltu", [](float a, float b) { return !(a >= b); });
  check("num", [](float a, float b) { return a == a && b == b; });
  Check<U32, U32>(
      "setp.lt.u32 %p3, $2, 8; setp.gt.and.s32 %p1, $1, $2, !%p3; "
      "selp.b32 $3, 1, 0, %p1;",
      [](U32 a, U32 b) {
        return static_cast<int32_t>(a) > static_cast<int32_t>(b) && b >= 8
                   ? U32{1}
                   : U32{0};
      });
  Check<U32, float>("set.eq.u32.f32 $3, $1, $2;",
                    [](float a, float b) { return a == b ? 0xffffffffu : 0; });
  Check<U32, U32>("slct.b32.s32 $3, $1, $2, $2;", [](U32 a, U32 b) {
    return static_cast<int32_t>(b) >= 0 ? a : b;
  });
  Check<U32, double>("testp.subnormal.f64 %p1, $1; selp.u32 $3, 1, 0, %p1;",
                     [](double a, double) {
                       return std::fpclassify(a) == FP_SUBNORMAL ? U32{1}
                                                                 : U32{0};
                     });
}

// _Float16 of the host is computed in f32 and rounded, which is exact for
// these.
TEST(ConvertTest, HalfArithmetic) {
  const auto as_half = [](U16 bits) {
    return static_cast<float>(std::bit_cast<_Float16>(bits));
  };
  const auto bits_of = [](float v) {
    return std::isnan(v) ? U16{0x7fff}
                         : std::bit_cast<U16>(static_cast<_Float16>(v));
  };
  Check<U16, U16>("add.f16 $3, $1, $2;", [&](U16 a, U16 b) {
    return bits_of(as_half(a) + as_half(b));
  });
  Check<U16, U16>("mul.f16 $3, $1, $2;", [&](U16 a, U16 b) {
    return bits_of(as_half(a) * as_half(b));
  });
  Check<U16, U16>("fma.rn.relu.f16 $3, $1, $2, $1;", [&](U16 a, U16 b) {
    // 11 digits each: the product and sum are exact in a long double.
    const long double x = as_half(a), y = as_half(b);
    const long double sum = x * y + x;
    if (std::isnan(sum)) return U16{0x7fff};
    return EncodeFloat(DType::kF16, sum > 0 ? static_cast<double>(sum) : 0.0);
  });
  Check<U32, U32>("min.bf16x2 $3, $1, $2;", [](U32 a, U32 b) {
    U32 out = 0;
    for (int shift = 0; shift < 32; shift += 16) {
      const U32 x = a >> shift & 0xffff, y = b >> shift & 0xffff;
      const auto u = std::bit_cast<float>(x << 16);
      const auto v = std::bit_cast<float>(y << 16);
      U32 part = u < v || (u == v && std::signbit(u)) ? x : y;
      if (std::isnan(u)) part = std::isnan(v) ? 0x7fff : y;
      if (std::isnan(v) && !std::isnan(u)) part = x;
      out |= part << shift;
    }
    return out;
  });
}

// The distance of two floats in units of the last place of the second.
double Units(float found, double exact) {
  const auto near = std::fabs(static_cast<float>(exact));
  const double unit = std::nextafter(near, INFINITY) - near;
  return std::fabs(found - exact) / unit;
}

TEST(ConvertTest, ApproximationsStayWithinTheirErrors) {
  std::vector<float> inputs;
  for (int i = 0; i < 512; ++i) {
    inputs.insert(inputs.end(), {0.37f + static_cast<float>(i) * 0.173f, 3.7f});
  }
  int different = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const auto rcp =
        Results<float, float>("rcp.approx.f32 %f13, %f11;", inputs, seed);
    const auto ex2 =
        Results<float, float>("ex2.approx.f32 %f13, %f11;", inputs, seed);
    const auto sin =
        Results<float, float>("sin.approx.f32 %f13, %f11;", inputs, seed);
    const auto div =
        Results<float, float>("div.full.f32 %f13, %f11, %f12;", inputs, seed);
    for (size_t i = 0; i < rcp.size(); ++i) {
      const double a = inputs[2 * i], b = inputs[2 * i + 1];
      EXPECT_LE(Units(rcp[i], 1 / a), 1.0);
      EXPECT_LE(Units(ex2[i], std::exp2(a)), 2.0);
      EXPECT_LE(Units(div[i], a / b), 2.0);
      if (a < 6) EXPECT_NEAR(sin[i], std::sin(a), std::exp2(-20.5));
      if (rcp[i] != static_cast<float>(1 / a)) ++different;
    }
  }
  EXPECT_GT(different, 0);
  const std::vector<float> edges = {0, 0, INFINITY, 0, -3, 0, -0.0f, 0};
  EXPECT_EQ((Results<float, float>("ex2.approx.f32 %f13, %f11;", edges)),
            (std::vector<float>{1, INFINITY, 0.125f, 1}));
  const auto root =
      Results<float, float>("rsqrt.approx.f32 %f13, %f11;", edges);
  EXPECT_EQ(root[0], INFINITY);
  EXPECT_EQ(root[1], 0);
  EXPECT_TRUE(std::isnan(root[2]));
  EXPECT_EQ(root[3], -INFINITY);
}

}  // namespace
}  // namespace encore::ptx
