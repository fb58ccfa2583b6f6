// Memory, atomics, lanes of a warp, matrices and asynchronous copies.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/emulator/counters.h"
#include "encore/backends/cuda/emulator/testing/device.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

// The 32 results of a warp: %r1 is the lane's input, %r9 its result.
std::vector<uint32_t> WarpResults(std::string_view body,
                                  const std::vector<uint32_t>& inputs,
                                  Status* status = nullptr) {
  TestDevice device(ModuleOf(
      StrCat("mul.wide.u32 %rd50, %r0, 4; add.s64 %rd51, %rd2, %rd50;\n"
             "add.s64 %rd50, %rd1, %rd50; ld.global.u32 %r1, [%rd50];\n",
             body, "\nst.global.u32 [%rd51], %r9;")));
  const Buffer in = device.Add(inputs);
  const Buffer out = device.Add(std::vector<uint32_t>(inputs.size()));
  const auto threads = static_cast<uint32_t>(inputs.size());
  const Status run = device.Run("test", {1, 1, 1}, {threads, 1, 1}, in, out);
  if (status != nullptr) {
    *status = run;
  } else {
    EXPECT_TRUE(run.ok()) << run << "\n" << body;
  }
  return device.Get<uint32_t>(out);
}

std::vector<uint32_t> Lanes() {
  std::vector<uint32_t> values(32);
  for (uint32_t i = 0; i < 32; ++i) values[i] = i * 0x9e3779b9u ^ i;
  return values;
}

template <typename Expected>
void CheckWarp(std::string_view body, Expected expected) {
  const auto in = Lanes();
  const auto out = WarpResults(body, in);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    ASSERT_EQ(out[lane], expected(in, lane)) << body << " lane " << lane;
  }
}

using In = const std::vector<uint32_t>&;

TEST(WarpTest, Shuffles) {
  CheckWarp("shfl.sync.up.b32 %r9, %r1, 3, 0, -1;",
            [](In in, uint32_t l) { return in[l < 3 ? l : l - 3]; });
  CheckWarp("shfl.sync.down.b32 %r9|%p1, %r1, 5, 31, -1; @!%p1 mov.u32 %r9, 7;",
            [](In in, uint32_t l) { return l + 5 < 32 ? in[l + 5] : 7u; });
  CheckWarp("shfl.sync.bfly.b32 %r9, %r1, 6, 31, -1;",
            [](In in, uint32_t l) { return in[l ^ 6]; });
  // Segments of eight lanes.
  CheckWarp("shfl.sync.idx.b32 %r9, %r1, 2, 0x181f, -1;",
            [](In in, uint32_t l) { return in[l / 8 * 8 + 2]; });
  CheckWarp("shfl.sync.down.b32 %r9, %r1, 1, 0x1807, -1;",
            [](In in, uint32_t l) { return in[l % 8 == 7 ? l : l + 1]; });
}

TEST(WarpTest, VotesAndMatches) {
  const auto ballot = [](In in, uint32_t) {
    uint32_t mask = 0;
    for (uint32_t l = 0; l < 32; ++l) mask |= (in[l] & 1) << l;
    return mask;
  };
  CheckWarp(
      "and.b32 %r2, %r1, 1; setp.ne.u32 %p1, %r2, 0;"
      "vote.sync.ballot.b32 %r9, %p1, -1;",
      ballot);
  CheckWarp(
      "setp.ne.u32 %p1, %r0, 4; vote.sync.all.pred %p2, %p1, -1;"
      "vote.sync.any.pred %p3, !%p1, -1; selp.u32 %r9, 1, 0, %p2;"
      "@%p3 add.u32 %r9, %r9, 2;",
      [](In, uint32_t) { return 2u; });
  CheckWarp("and.b32 %r2, %r0, 3; match.any.sync.b32 %r9, %r2, -1;",
            [](In, uint32_t l) { return 0x11111111u << l % 4; });
  CheckWarp("match.all.sync.b32 %r9|%p1, 5, -1;",
            [](In, uint32_t) { return 0xffffffffu; });
  CheckWarp("redux.sync.max.s32 %r9, %r1, -1;", [](In in, uint32_t) {
    int32_t most = static_cast<int32_t>(in[0]);
    for (const uint32_t v : in) most = std::max(most, static_cast<int32_t>(v));
    return static_cast<uint32_t>(most);
  });
  CheckWarp("redux.sync.xor.b32 %r9, %r1, -1;", [](In in, uint32_t) {
    return std::accumulate(in.begin(), in.end(), 0u, std::bit_xor<>());
  });
  // Halves of a warp by themselves, in either order.
  CheckWarp(
      "setp.lt.u32 %p1, %r0, 16; @%p1 bra low;"
      "redux.sync.add.u32 %r9, %r0, 0xffff0000; bra done;"
      "low: redux.sync.add.u32 %r9, %r0, 0xffff; done:",
      [](In, uint32_t l) { return l < 16 ? 120u : 376u; });
  CheckWarp("setp.lt.u32 %p1, %r0, 9; mov.u32 %r9, 1; @%p1 activemask.b32 %r9;",
            [](In, uint32_t l) { return l < 9 ? 0x1ffu : 1u; });
}

TEST(WarpTest, Branches) {
  CheckWarp(
      "and.b32 %r2, %r0, 3; brx.idx %r2, table;"
      "table: .branchtargets a, b, c, d;"
      "a: mov.u32 %r9, 10; bra end; b: mov.u32 %r9, 11; bra end;"
      "c: mov.u32 %r9, 12; bra end; d: mov.u32 %r9, 13; end:",
      [](In, uint32_t l) { return 10 + l % 4; });
  // A loop of each lane's own length.
  CheckWarp(
      "mov.u32 %r9, 0; mov.u32 %r2, 0; again: setp.ge.u32 %p1, %r2, %r0;"
      "@%p1 bra out; add.u32 %r9, %r9, %r2; add.u32 %r2, %r2, 1; bra again;"
      "out:",
      [](In, uint32_t l) { return l * (l - 1) / 2; });
  // A lock that lanes of one warp take from each other.
  CheckWarp(
      ".shared .u32 lock; .shared .u32 count; mov.u32 %r3, 0;"
      "setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [lock], 0;"
      "@%p1 st.shared.u32 [count], 0; bar.sync 0;"
      "try: atom.acquire.cta.shared.cas.b32 %r2, [lock], 0, 1;"
      "setp.ne.u32 %p2, %r2, 0; @%p2 bra try;"
      "ld.volatile.shared.u32 %r4, [count]; add.u32 %r4, %r4, 1;"
      "st.volatile.shared.u32 [count], %r4;"
      "atom.release.cta.shared.exch.b32 %r2, [lock], 0;"
      "bar.warp.sync -1; bar.sync 0; ld.shared.u32 %r9, [count];",
      [](In, uint32_t) { return 32u; });
}

TEST(WarpTest, LoadsAndStores) {
  CheckWarp("ld.global.s8 %r9, [%rd50+1];", [](In in, uint32_t l) {
    return static_cast<uint32_t>(static_cast<int8_t>(in[l] >> 8));
  });
  CheckWarp("ld.global.u16 %r9, [%rd50+2];",
            [](In in, uint32_t l) { return in[l] >> 16; });
  CheckWarp("mov.b32 {%rs1, %rs2}, %r1; mov.b32 %r9, {%rs2, %rs1};",
            [](In in, uint32_t l) { return in[l] << 16 | in[l] >> 16; });
  CheckWarp(
      ".local .align 8 .b8 own[8]; cvta.local.u64 %rd3, 0; mov.u64 %rd4, own;"
      "add.s64 %rd3, %rd3, %rd4; st.v2.u32 [%rd3], {%r1, %r0};"
      "isspacep.local %p1, %rd3; ld.local.u32 %r9, [own+4];"
      "@!%p1 mov.u32 %r9, 99;",
      [](In, uint32_t l) { return l; });
  CheckWarp(
      ".shared .align 16 .b8 tile[512]; mov.u32 %r2, tile; shl.b32 %r3, %r0, 4;"
      "add.u32 %r2, %r2, %r3; st.shared.v4.u32 [%r2], {%r0, %r1, 3, %r3};"
      "cvt.u64.u32 %rd3, %r2; cvta.shared.u64 %rd3, %rd3;"
      "ld.u32 %r9, [%rd3+4];",
      [](In in, uint32_t l) { return in[l]; });
}

TEST(WarpTest, Atomics) {
  const auto both = [](std::string_view op, uint32_t start, auto expected) {
    TestDevice device(
        ModuleOf(StrCat("add.u32 %r1, %r0, 100; ", op, " %r2, [%rd1], %r1;")));
    const Buffer in = device.Add(std::vector<uint32_t>{start});
    const Status run = device.Run("test", {1, 1, 1}, {32, 1, 1}, in, in);
    ASSERT_TRUE(run.ok()) << run;
    EXPECT_EQ(device.Get<uint32_t>(in)[0], expected) << op;
  };
  both("atom.global.add.u32", 5, 5u + 32 * 100 + 496);
  both("atom.global.max.s32", ~0u, 131u);
  both("atom.global.min.u32", 115, 100u);
  both("atom.global.and.b32", 0xff, [] {
    uint32_t all = 0xff;
    for (uint32_t l = 0; l < 32; ++l) all &= 100 + l;
    return all;
  }());
  both("atom.global.xor.b32", 9, 9u);
  both("atom.global.inc.u32", 3, 35u);
  TestDevice device(ModuleOf(
      "mov.f32 %f1, 0f3FC00000; red.global.add.f32 [%rd1], %f1;"
      "mov.b32 %r2, 0x3c003800; red.global.add.noftz.f16x2 [%rd1+4], %r2;"
      "atom.global.add.f64 %d1, [%rd1+8], 0d4000000000000000;"));
  const Buffer in = device.Add(std::vector<uint32_t>(4));
  const Status run = device.Run("test", {1, 1, 1}, {32, 1, 1}, in, in);
  ASSERT_TRUE(run.ok()) << run;
  const auto out = device.Get<uint32_t>(in);
  EXPECT_EQ(std::bit_cast<float>(out[0]), 48.0f);
  EXPECT_EQ(out[1], 0x50004c00u);  // 32 and 16
  EXPECT_EQ(device.Get<double>(in)[1], 64.0);
}

// In global memory they are zeros of their sign, read or made, in shared memory
// numbers as others.
TEST(WarpTest, AtomicsOfSubnormals) {
  TestDevice device(ModuleOf(
      "red.global.add.f32 [%rd1], 0f00400000;"
      "red.global.add.f32 [%rd1+4], 0f3F800000;"
      "cvta.global.u64 %rd3, %rd1; red.add.f32 [%rd3+8], 0f80800000;"));
  // The last one is half of the least normal number after the first update.
  const Buffer in =
      device.Add(std::vector<uint32_t>{0, 0x80000001, 0x00c00000});
  const Status run = device.Run("test", {1, 1, 1}, {32, 1, 1}, in, in);
  ASSERT_TRUE(run.ok()) << run;
  const auto out = device.Get<uint32_t>(in);
  EXPECT_EQ(out[0], 0u);
  EXPECT_EQ(std::bit_cast<float>(out[1]), 32.0f);
  EXPECT_EQ(std::bit_cast<float>(out[2]), -31 * 0x1p-126f);
  CheckWarp(
      ".shared .align 4 .b8 sum[4]; setp.eq.u32 %p1, %r0, 0;"
      "@%p1 st.shared.u32 [sum], 0; bar.sync 0;"
      "red.shared.add.f32 [sum], 0f00000001; bar.sync 0;"
      "ld.shared.u32 %r9, [sum];",
      [](In, uint32_t) { return 32u; });
}

// Copies of 16 bytes of which n % 17 are read.
TEST(WarpTest, AsynchronousCopiesFillWithZeros) {
  CheckWarp(
      ".shared .align 16 .b8 tile[512]; mov.u32 %r2, tile; shl.b32 %r3, %r0, 4;"
      "add.u32 %r2, %r2, %r3; and.b32 %r4, %r0, 1; shl.b32 %r4, %r4, 3;"
      "cp.async.cg.shared.global [%r2], [%rd1+16], 16, %r4;"
      "cp.async.wait_all; ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r2];"
      "add.u32 %r9, %r5, %r7;",
      [](In in, uint32_t l) { return l % 2 == 1 ? in[4] : 0u; });
}

TEST(WarpTest, CopiesArriveAtAnMbarrier) {
  CheckWarp(
      ".shared .align 8 .b64 bar; .shared .align 4 .b8 tile[128];"
      "setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [bar], 32;"
      "bar.sync 0; mov.u32 %r2, tile; shl.b32 %r3, %r0, 2;"
      "add.u32 %r4, %r2, %r3; cp.async.ca.shared.global [%r4], [%rd50], 4;"
      "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];"
      "wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;"
      "@!%p2 bra wait; xor.b32 %r3, %r3, 4; add.u32 %r4, %r2, %r3;"
      "ld.shared.u32 %r9, [%r4];",
      [](In in, uint32_t l) { return in[l ^ 1]; });
  // Threads that arrive for themselves.
  CheckWarp(
      ".shared .align 8 .b64 bar; .shared .align 4 .b8 tile[128];"
      "setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [bar], 32;"
      "bar.sync 0; mov.u32 %r2, tile; shl.b32 %r3, %r0, 2;"
      "add.u32 %r4, %r2, %r3; st.shared.u32 [%r4], %r1;"
      "mbarrier.arrive.shared.b64 %rd5, [bar];"
      "wait: mbarrier.test_wait.shared.b64 %p2, [bar], %rd5;"
      "@!%p2 bra wait; xor.b32 %r3, %r3, 64; add.u32 %r4, %r2, %r3;"
      "ld.shared.u32 %r9, [%r4];",
      [](In in, uint32_t l) { return in[l ^ 16]; });
}

// mma with a from the input by its definition: a[row][col], all in one place.
TEST(WarpTest, MatrixProductsOfBytes) {
  // k = 32: a word of the input for each register.
  std::string body =
      "mul.lo.u32 %r2, %r1, 3; mul.lo.u32 %r3, %r1, 5; mul.lo.u32 %r4, %r1, 7;"
      "mul.lo.u32 %r5, %r1, 11; mul.lo.u32 %r6, %r1, 13; mov.u32 %r20, 1000;"
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r10, %r11, %r12, "
      "%r13},"
      "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r0, %r20, %r0, %r20};";
  for (uint32_t part = 0; part < 4; ++part) {
    const auto in = Lanes();
    const auto out =
        WarpResults(StrCat(body, "mov.u32 %r9, %r", 10 + part, ";"), in);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t row = lane / 4 + part / 2 * 8,
                     col = lane % 4 * 2 + part % 2;
      int32_t sum = part % 2 == 0 ? static_cast<int32_t>(lane) : 1000;
      for (uint32_t k = 0; k < 32; ++k) {
        static constexpr uint32_t kA[4] = {1, 3, 5, 7}, kB[2] = {11, 13};
        const uint32_t a_lane = row % 8 * 4 + k % 16 / 4;
        const uint32_t a = in[a_lane] * kA[row / 8 + k / 16 * 2];
        const uint32_t b = in[col * 4 + k % 16 / 4] * kB[k / 16];
        sum += static_cast<int8_t>(a >> k % 4 * 8) *
               static_cast<uint8_t>(b >> k % 4 * 8);
      }
      ASSERT_EQ(out[lane], static_cast<uint32_t>(sum)) << part << " " << lane;
    }
  }
}

TEST(WarpTest, MatrixProductsOfTf32AndBf16) {
  std::vector<uint32_t> in(32);
  for (uint32_t i = 0; i < 32; ++i) {
    in[i] =
        std::bit_cast<uint32_t>(static_cast<float>(static_cast<int>(i) - 9));
  }
  const auto value = [&](uint32_t lane) { return static_cast<int>(lane) - 9; };
  const auto tf32 = WarpResults(
      "mov.b32 %r5, 0; mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 "
      "{%r9, %r10, %r11, %r12}, {%r1, %r1}, {%r1}, {%r1, %r5, %r5, %r5};",
      in);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    float sum = static_cast<float>(value(lane));
    for (uint32_t k = 0; k < 4; ++k) {
      sum += static_cast<float>(value(lane / 4 * 4 + k) *
                                value(lane % 4 * 2 * 4 + k));
    }
    ASSERT_EQ(std::bit_cast<float>(tf32[lane]), sum) << lane;
  }
  // The upper halves of f32 are bf16; the lower ones are zeros.
  const auto bf16 = WarpResults(
      "mov.b32 %r5, 0; mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 "
      "{%r10, %r11, %r9, %r12}, {%r5, %r1}, {%r1}, {%r5, %r5, %r5, %r5};",
      in);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    float sum = 0;
    for (uint32_t k = 0; k < 4; ++k) {
      sum += static_cast<float>(value(lane / 4 * 4 + k) *
                                value(lane % 4 * 2 * 4 + k));
    }
    ASSERT_EQ(std::bit_cast<float>(bf16[lane]), sum) << lane;
  }
}

TEST(WarpTest, MatrixRows) {
  // Lane l stores its words of row l of four 8 x 8 matrices of half words.
  const std::string_view store =
      ".shared .align 16 .b8 tile[512]; mov.u32 %r2, tile; shl.b32 %r3, %r0, 4;"
      "add.u32 %r2, %r2, %r3; shl.b32 %r4, %r0, 3; add.u32 %r5, %r4, 0x10000;"
      "add.u32 %r6, %r5, 0x20002; add.u32 %r7, %r6, 0x20002;"
      "add.u32 %r8, %r7, 0x20002; mad.lo.u32 %r5, %r4, 0x10000, %r5;"
      "mad.lo.u32 %r6, %r4, 0x10000, %r6; mad.lo.u32 %r7, %r4, 0x10000, %r7;"
      "mad.lo.u32 %r8, %r4, 0x10000, %r8;"
      "st.shared.v4.u32 [%r2], {%r5, %r6, %r7, %r8}; bar.sync 0;";
  // The half word in row r and column c is 8 r + c.
  CheckWarp(StrCat(store,
                   "ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                   "{%r10, %r11, %r12, %r9}, [%r2];"),
            [](In, uint32_t l) {
              const uint32_t first = (24 + l / 4) * 8 + l % 4 * 2;
              return first | (first + 1) << 16;
            });
  CheckWarp(StrCat(store,
                   "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 "
                   "{%r10, %r9}, [%r2];"),
            [](In, uint32_t l) {
              const uint32_t first = (8 + l % 4 * 2) * 8 + l / 4;
              return first | (first + 8) << 16;
            });
}

TEST(WarpTest, BankConflictsAndSectors) {
  TestDevice device(ModuleOf(
      ".shared .align 4 .b8 tile[4096]; mov.u32 %r2, tile;"
      "shl.b32 %r3, %r0, 7; add.u32 %r4, %r2, %r3; st.shared.u32 [%r4], %r0;"
      "mul.wide.u32 %rd5, %r0, 64; add.s64 %rd5, %rd1, %rd5;"
      "ld.global.u32 %r5, [%rd5];"));
  const Buffer in = device.Add(std::vector<uint32_t>(512));
  const Status run = device.Run("test", {1, 1, 1}, {32, 1, 1}, in, in);
  ASSERT_TRUE(run.ok()) << run;
  EXPECT_EQ(device.counters().shared_passes, 32u);
  EXPECT_EQ(device.counters().BankConflicts(), 31u);
  EXPECT_EQ(device.counters().global_requests, 1u);
  EXPECT_EQ(device.counters().global_sectors, 32u);
}

TEST(WarpTest, UninitializedGlobalMemoryOnRequest) {
  for (const bool check : {false, true}) {
    TestDevice device(ModuleOf("ld.global.u32 %r1, [%rd1];"));
    const Buffer in = device.Add(std::vector<uint32_t>(1));
    device.SetUninitialized(in);
    device.options().check_initialized_global = check;
    const Status run = device.Run("test", {1, 1, 1}, {1, 1, 1}, in, in);
    EXPECT_EQ(run.ok(), !check) << run;
  }
}

TEST(WarpTest, LaunchesThatNoDeviceTakes) {
  TestDevice device(ModuleOf(""));
  const Buffer in = device.Add(std::vector<uint32_t>(1));
  EXPECT_FALSE(device.Run("test", {1, 1, 1}, {1025, 1, 1}, in, in).ok());
  EXPECT_FALSE(device.Run("test", {0, 1, 1}, {1, 1, 1}, in, in).ok());
  EXPECT_FALSE(device.Run("test", {1, 65536, 1}, {1, 1, 1}, in, in).ok());
  EXPECT_FALSE(device.Run("test", {1, 1, 1}, {1, 1, 1}, in).ok());
  EXPECT_FALSE(device.Run("other", {1, 1, 1}, {1, 1, 1}, in, in).ok());
  device.dynamic_shared_bytes() = 300000;
  EXPECT_FALSE(device.Run("test", {1, 1, 1}, {1, 1, 1}, in, in).ok());
}

TEST(WarpTest, TheSameSeedGivesTheSameCourse) {
  const auto run = [](uint64_t seed) {
    TestDevice device(ModuleOf(
        "atom.global.exch.b32 %r1, [%rd1], %r0; mul.wide.u32 %rd5, %r0, 4;"
        "add.s64 %rd5, %rd2, %rd5; st.global.u32 [%rd5], %r1;"));
    device.options().seed = seed;
    const Buffer in = device.Add(std::vector<uint32_t>(1));
    const Buffer out = device.Add(std::vector<uint32_t>(256));
    EXPECT_TRUE(device.Run("test", {1, 1, 1}, {256, 1, 1}, in, out).ok());
    return device.Get<uint32_t>(out);
  };
  EXPECT_EQ(run(3), run(3));
  EXPECT_NE(run(3), run(4));
}

}  // namespace
}  // namespace encore::ptx
