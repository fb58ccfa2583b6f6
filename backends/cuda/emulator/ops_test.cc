// Integers, bits and floats against the host's arithmetic, on edge values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "encore/backends/cuda/emulator/testing/check.h"

namespace encore::ptx {
namespace {

TEST(OpsTest, AddSubMul) {
  Check<U32, U32>("add.s32 $3, $1, $2;", [](U32 a, U32 b) { return a + b; });
  Check<U16, U16>("sub.u16 $3, $1, $2;",
                  [](U16 a, U16 b) { return static_cast<U16>(a - b); });
  Check<U64, U64>("mul.lo.u64 $3, $1, $2;", [](U64 a, U64 b) { return a * b; });
  Check<U32, U32>("mul.hi.s32 $3, $1, $2;", [](U32 a, U32 b) {
    return static_cast<U32>(
        int64_t{static_cast<int32_t>(a)} * static_cast<int32_t>(b) >> 32);
  });
  Check<U64, U64>("mul.hi.u64 $3, $1, $2;", [](U64 a, U64 b) {
    return static_cast<U64>(static_cast<unsigned __int128>(a) * b >> 64);
  });
  Check<U64, U64>("mul.hi.s64 $3, $1, $2;", [](U64 a, U64 b) {
    return static_cast<U64>(static_cast<__int128>(static_cast<int64_t>(a)) *
                                static_cast<int64_t>(b) >>
                            64);
  });
  Check<U64, U32>("mul.wide.s32 $3, $1, $2;", [](U32 a, U32 b) {
    return static_cast<U64>(int64_t{static_cast<int32_t>(a)} *
                            static_cast<int32_t>(b));
  });
  Check<U32, U16>("mul.wide.u16 $3, $1, $2;",
                  [](U16 a, U16 b) { return U32{a} * b; });
  Check<U32, U32>("mad.lo.s32 $3, $1, $2, $1;",
                  [](U32 a, U32 b) { return a * b + a; });
  Check<U32, U32>("add.sat.s32 $3, $1, $2;", [](U32 a, U32 b) {
    const int64_t sum =
        int64_t{static_cast<int32_t>(a)} + static_cast<int32_t>(b);
    return static_cast<U32>(std::min<int64_t>(
        std::max<int64_t>(sum, std::numeric_limits<int32_t>::min()),
        std::numeric_limits<int32_t>::max()));
  });
}

TEST(OpsTest, DivRemMinMaxAbs) {
  Check<U32, U32>("div.u32 $3, $1, $2;",
                  [](U32 a, U32 b) { return b == 0 ? ~0u : a / b; });
  Check<U32, U32>("rem.s32 $3, $1, $2;", [](U32 a, U32 b) {
    const auto x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
    if (y == 0) return a;
    return static_cast<U32>(int64_t{x} % int64_t{y});
  });
  Check<U64, U64>("min.s64 $3, $1, $2;", [](U64 a, U64 b) {
    return static_cast<int64_t>(a) < static_cast<int64_t>(b) ? a : b;
  });
  Check<U16, U16>("max.u16 $3, $1, $2;",
                  [](U16 a, U16 b) { return std::max(a, b); });
  Check<U32, U32>("abs.s32 $3, $1;",
                  [](U32 a, U32) { return a >> 31 != 0 ? 0 - a : a; });
  Check<U32, U32>("sad.u32 $3, $1, $2, $1;",
                  [](U32 a, U32 b) { return (a < b ? b - a : a - b) + a; });
}

TEST(OpsTest, Carries) {
  Check<U32, U32>(
      "add.cc.u32 %r20, $1, $2; addc.u32 $3, $1, 0;",
      [](U32 a, U32 b) { return a + (U64{a} + b > 0xffffffffu ? 1 : 0); });
  Check<U32, U32>("sub.cc.u32 %r20, $1, $2; subc.u32 $3, $1, 0;",
                  [](U32 a, U32 b) { return a - (a < b ? 1 : 0); });
  Check<U32, U32>(
      "mad.lo.cc.u32 %r20, $1, $2, $1; madc.hi.u32 $3, $1, $2, 5;",
      [](U32 a, U32 b) {
        return static_cast<U32>((U64{a} * b + a + (U64{5} << 32)) >> 32);
      });
}

TEST(OpsTest, Logic) {
  Check<U32, U32>("and.b32 $3, $1, $2;", [](U32 a, U32 b) { return a & b; });
  Check<U64, U64>("xor.b64 $3, $1, $2;", [](U64 a, U64 b) { return a ^ b; });
  Check<U16, U16>("not.b16 $3, $1;",
                  [](U16 a, U16) { return static_cast<U16>(~a); });
  Check<U32, U32>("lop3.b32 $3, $1, $2, 0x0ff0aa55, 0x96;",
                  [](U32 a, U32 b) { return a ^ b ^ 0x0ff0aa55u; });
  Check<U32, U32>("lop3.b32 $3, $1, $2, 0x0ff0aa55, 0xca;",
                  [](U32 a, U32 b) { return (a & b) | (~a & 0x0ff0aa55u); });
  Check<U32, U32>("shl.b32 $3, $1, $2;",
                  [](U32 a, U32 b) { return b > 31 ? 0 : a << b; });
  Check<U32, U32>("shr.s32 $3, $1, $2;", [](U32 a, U32 b) {
    return static_cast<U32>(static_cast<int32_t>(a) >> std::min(b, 31u));
  });
  Check<U32, U32>("shr.u32 $3, $1, $2;",
                  [](U32 a, U32 b) { return b > 31 ? 0 : a >> b; });
  Check<U32, U32>("shf.l.wrap.b32 $3, $1, 0x12345678, $2;", [](U32 a, U32 b) {
    const U32 n = b % 32;
    return n == 0 ? 0x12345678u : 0x12345678u << n | a >> (32 - n);
  });
  Check<U32, U32>("shf.r.clamp.b32 $3, $1, 0x12345678, $2;", [](U32 a, U32 b) {
    if (b >= 32) return 0x12345678u;
    return b == 0 ? a : a >> b | 0x12345678u << (32 - b);
  });
}

TEST(OpsTest, BitFields) {
  Check<U32, U32>("bfe.u32 $3, $1, 5, 9;",
                  [](U32 a, U32) { return a >> 5 & 0x1ff; });
  Check<U32, U32>("bfe.s32 $3, $1, 28, 9;", [](U32 a, U32) {
    return static_cast<U32>(static_cast<int32_t>(a) >> 28);
  });
  Check<U32, U32>("bfi.b32 $3, $1, $2, 7, 11;", [](U32 a, U32 b) {
    return (b & ~(0x7ffu << 7)) | (a & 0x7ff) << 7;
  });
  Check<U32, U64>("popc.b64 $3, $1;", [](U64 a, U64) {
    return static_cast<U32>(__builtin_popcountll(a));
  });
  Check<U32, U32>("clz.b32 $3, $1;", [](U32 a, U32) {
    U32 n = 0;
    while (n < 32 && (a << n >> 31) == 0) ++n;
    return n;
  });
  Check<U64, U64>("brev.b64 $3, $1;",
                  [](U64 a, U64) { return __builtin_bitreverse64(a); });
  Check<U32, U32>("bfind.u32 $3, $1;", [](U32 a, U32) {
    return a == 0 ? ~0u : 31u - static_cast<U32>(__builtin_clz(a));
  });
  Check<U32, U32>("prmt.b32 $3, $1, $2, 0x9d50;", [](U32 a, U32 b) {
    const U64 both = U64{b} << 32 | a;
    const auto byte = [&](int n) {
      return static_cast<U32>(both >> 8 * n & 0xff);
    };
    const auto sign = [&](int n) { return byte(n) >= 0x80 ? 0xffu : 0u; };
    return sign(1) << 24 | sign(5) << 16 | byte(5) << 8 | byte(0);
  });
}

TEST(OpsTest, DotProducts) {
  Check<U32, U32>("dp4a.s32.u32 $3, $1, $2, 100;", [](U32 a, U32 b) {
    int64_t sum = 100;
    for (int n = 0; n < 32; n += 8) {
      sum +=
          int64_t{static_cast<int8_t>(a >> n)} * static_cast<uint8_t>(b >> n);
    }
    return static_cast<U32>(sum);
  });
  Check<U32, U32>("dp2a.hi.u32.s32 $3, $1, $2, $1;", [](U32 a, U32 b) {
    const int64_t sum = int64_t{a & 0xffff} * static_cast<int8_t>(b >> 16) +
                        int64_t{a >> 16} * static_cast<int8_t>(b >> 24);
    return static_cast<U32>(sum + a);
  });
}

TEST(OpsTest, Floats) {
  Check<float, float>("add.f32 $3, $1, $2;",
                      [](float a, float b) { return a + b; });
  Check<float, float>("div.rn.f32 $3, $1, $2;",
                      [](float a, float b) { return a / b; });
  Check<double, double>("fma.rn.f64 $3, $1, $2, $1;",
                        [](double a, double b) { return std::fma(a, b, a); });
  Check<float, float>("sqrt.rn.f32 $3, $1;",
                      [](float a, float) { return std::sqrt(a); });
  Check<float, float>("mul.rz.f32 $3, $1, $2;", [](float a, float b) {
    // Exact in a double, then cut.
    const double exact = static_cast<double>(a) * b;
    auto near = static_cast<float>(exact);
    if (std::isfinite(exact) && std::fabs(near) > std::fabs(exact)) {
      near = std::nextafter(near, 0.0f);
    }
    return near;
  });
  Check<float, float>("add.sat.f32 $3, $1, $2;", [](float a, float b) {
    const float sum = a + b;
    return std::isnan(sum) || !(sum > 0) ? 0.0f : std::min(sum, 1.0f);
  });
  Check<float, float>("mul.ftz.f32 $3, $1, $2;", [](float a, float b) {
    const auto flush = [](float v) {
      return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
    };
    return flush(flush(a) * flush(b));
  });
  Check<float, float>("min.f32 $3, $1, $2;", [](float a, float b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? a : b;
    return std::min(a, b);
  });
  Check<double, double>("max.f64 $3, $1, $2;", [](double a, double b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? b : a;
    return std::max(a, b);
  });
  Check<float, float>("max.NaN.f32 $3, $1, $2;", [](float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return std::nanf("");
    if (a == b) return std::signbit(a) ? b : a;
    return std::max(a, b);
  });
  Check<float, float>("copysign.f32 $3, $1, $2;",
                      [](float a, float b) { return std::copysign(b, a); });
}

// Products of f32 are exact in f64, so that the exact result shows the
// direction.
TEST(OpsTest, DirectedRounding) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto expected = [&](float a, float b, float toward) {
    const double exact = static_cast<double>(a) * b;
    const auto near = static_cast<float>(exact);
    if (!std::isfinite(exact)) return near;
    const bool off = toward > 0 ? near < exact : near > exact;
    return off ? std::nextafter(near, toward) : near;
  };
  Check<float, float>("mul.rp.f32 $3, $1, $2;", [&](float a, float b) {
    return expected(a, b, infinity);
  });
  Check<float, float>("mul.rm.f32 $3, $1, $2;", [&](float a, float b) {
    return expected(a, b, -infinity);
  });
  const double tiny = 0x1p-70;
  const std::vector<double> inputs = {1, tiny, 1, -tiny, -1, tiny, -1, -tiny};
  EXPECT_EQ((Results<double, double>("add.rp.f64 %d13, %d11, %d12;", inputs)),
            (std::vector<double>{std::nextafter(1.0, 2.0), 1.0,
                                 std::nextafter(-1.0, 0.0), -1.0}));
  EXPECT_EQ((Results<double, double>("add.rz.f64 %d13, %d11, %d12;", inputs)),
            (std::vector<double>{1.0, std::nextafter(1.0, 0.0),
                                 std::nextafter(-1.0, 0.0), -1.0}));
}

}  // namespace
}  // namespace encore::ptx
