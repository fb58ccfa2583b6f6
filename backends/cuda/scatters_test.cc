// Scatters by atomics beside those in the order of a loop.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cuda/candidates.h"
#include "encore/backends/cuda/testing/kernel_case.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

// A scatter of 90 rows, nearly all of which meet others or lie outside.
std::string Scatter(std::string_view update, std::string_view dtype) {
  return StrCat("graph g(%x: ", dtype, "[7,5], %i: i64[90,1], %u: ", dtype,
                "[90,5]) -> ", dtype,
                "[7,5] {\n  %y = scatter(%x, %i, %u) {update_window_dims = "
                "[1], inserted_window_dims = [0], "
                "scatter_dims_to_operand_dims = [0], index_vector_dim = 1, "
                "update = ",
                update, "}\n  return %y\n}");
}

// Updates that meet, by many threads at once and whatever their order: where
// any order gives the same bits, and where floats may round otherwise.
TEST(Scatters, AtomicUpdates) {
  for (const char* update : {"add", "mul", "max", "min"}) {
    for (const char* dtype :
         {"f32", "f64", "f16", "bf16", "i16", "u16", "i32", "u32", "i64"}) {
      const std::string text = Scatter(update, dtype);
      const bool is_integer = *dtype == 'i' || *dtype == 'u';
      const std::string_view combines(update);
      const bool selects = combines == "max" || combines == "min";
      KernelCase c{.text = text, .kernel = kAtomicLoops};
      EXPECT_EQ(RunCase(c).ok(), is_integer || selects) << text;
      c.rewrites = Rewrites::kFast;
      for (uint64_t seed = 0; seed < 4; ++seed) {
        c.seed = seed;
        const KernelResult result = RunAndPrint(c);
        EXPECT_EQ(result.launches.size(), 2u);
        EXPECT_GT(result.instructions(ptx::InstructionClass::kAtomic), 0u);
      }
    }
  }
}

// Elements of the dtype with those bits, in order and over again.
Literal OfBits(DType dtype, std::vector<int64_t> dims,
               std::span<const uint64_t> bits) {
  Literal literal(dtype, std::move(dims));
  const size_t width = static_cast<size_t>(BitWidth(dtype)) / 8;
  const std::span<std::byte> bytes = literal.mutable_bytes();
  for (size_t i = 0; i < bytes.size() / width; ++i) {
    std::memcpy(&bytes[i * width], &bits[i % bits.size()], width);
  }
  return literal;
}

// Neither which NaN comes first, nor which zero, changes a bit of the largest
// and smallest, and they are those of a loop.
TEST(Scatters, AnyOrderOfNaNsAndZeros) {
  struct Special {
    const char* name;
    DType dtype;
    // NaNs of both signs and of several payloads, zeros, a number.
    std::vector<uint64_t> bits;
  };
  const Special kSpecials[] = {
      {"f64",
       DType::kF64,
       {0x7ff8000000000001, 0, 0xfff8000000000000, uint64_t{1} << 63,
        0x7ff4000000000002, 0xfff7ffffffffffff, 0x3ff0000000000000}},
      {"f32",
       DType::kF32,
       {0x7fc00001, 0, 0xffc00000, 0x80000000, 0x7fa00002, 0xffbfffff,
        0x3f800000}},
      {"f16", DType::kF16, {0x7e01, 0, 0xfe00, 0x8000, 0x7d02, 0xfdff, 0x3c00}},
      {"bf16",
       DType::kBF16,
       {0x7fc1, 0, 0xffc0, 0x8000, 0x7fa2, 0xffbf, 0x3f80}}};
  for (const Special& special : kSpecials) {
    for (const std::string_view update : {"max", "min"}) {
      for (const size_t first : {size_t{0}, size_t{1}, special.bits.size()}) {
        // All; all without the first NaN; zeros alone.
        const std::vector<uint64_t> zeros = {special.bits[1], special.bits[3]};
        const std::span<const uint64_t> bits =
            first < special.bits.size()
                ? std::span<const uint64_t>(special.bits).subspan(first)
                : zeros;
        const std::string text = Scatter(update, special.name);
        Literal indices(DType::kI64, {90, 1});
        for (int64_t i = 0; i < 90; ++i)
          indices.mutable_values<int64_t>()[i] = i % 6;
        KernelCase c{.text = text,
                     .kernel = kLoops,
                     .arguments = {OfBits(special.dtype, {7, 5}, bits),
                                   std::move(indices),
                                   OfBits(special.dtype, {90, 5}, bits)}};
        const KernelResult in_order = RunAndPrint(c);
        ASSERT_EQ(in_order.outputs.size(), 1u);
        c.kernel = kAtomicLoops;
        for (c.seed = 0; c.seed < 4; ++c.seed) {
          const KernelResult result = RunAndPrint(c);
          ASSERT_EQ(result.outputs.size(), 1u);
          EXPECT_TRUE(std::ranges::equal(result.outputs[0].bytes(),
                                         in_order.outputs[0].bytes()))
              << text << ", seed " << c.seed;
        }
      }
    }
  }
}

// The last one counts, or there is no atomic of so few bits.
TEST(Scatters, StayInOrder) {
  for (const auto& [update, dtype] :
       {std::pair("set", "f32"), std::pair("add", "i8"),
        std::pair("add", "f8e4m3"), std::pair("max", "i4")}) {
    const std::string text = Scatter(update, dtype);
    const auto result = RunCase(
        {.text = text, .kernel = kAtomicLoops, .rewrites = Rewrites::kFast});
    EXPECT_FALSE(result.ok()) << text;
    EXPECT_EQ(RunAndPrint({text, kLoops}).kernel, kLoops);
  }
}

}  // namespace
}  // namespace encore::backends::cuda
