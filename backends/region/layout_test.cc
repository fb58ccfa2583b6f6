#include "encore/backends/region/layout.h"

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/region/codec.h"
#include "encore/backends/region/interpreter.h"
#include "encore/backends/region/packed_literal.h"
#include "encore/backends/region/region.h"
#include "encore/backends/region/relayout.h"
#include "encore/backends/region/text.h"
#include "encore/backends/region/verify.h"
#include "encore/backends/region/work.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

using Extents = std::vector<int64_t>;

std::vector<Dim> DimsOf(const Extents& extents) {
  return {extents.begin(), extents.end()};
}

Buffer BufferOf(Literal* literal) {
  const std::span<std::byte> bytes = literal->mutable_bytes();
  return {bytes.data(), static_cast<int64_t>(bytes.size())};
}

// Memory for a tensor in that layout, with nothing of use in it.
Literal Garbage(DType dtype, const Extents& dims, const Layout& layout) {
  Literal memory = Pack(Literal(dtype, dims), layout);
  for (std::byte& byte : memory.mutable_bytes()) byte = std::byte(0xb5);
  return memory;
}

Layout ReadmeWeights() { return {.blocks = {{1, 16}, {0, 16}}}; }

TEST(Layout, DimsAndBytesInMemory) {
  const std::vector<Dim> dims = DimsOf({2, 17, 5, 7});
  const Layout image = {.blocks = {{1, 8}}};
  EXPECT_EQ(MemoryDims(dims, image), DimsOf({2, 3, 5, 7, 8}));
  EXPECT_EQ(MemoryBytes(DType::kF32, dims, image), Dim(2 * 3 * 5 * 7 * 8 * 4));
  EXPECT_TRUE(HasPadding(dims, image));
  EXPECT_FALSE(HasPadding(DimsOf({2, 24, 5, 7}), image));
  const std::vector<Dim> weights = DimsOf({24, 17, 3, 3});
  EXPECT_EQ(MemoryDims(weights, ReadmeWeights()), DimsOf({2, 2, 3, 3, 16, 16}));
  const Layout moved = {.order = {2, 0, 1}, .blocks = {{2, 4}, {0, 8}}};
  EXPECT_EQ(MemoryDims(DimsOf({9, 10, 11}), moved), DimsOf({3, 2, 10, 4, 8}));
  EXPECT_EQ(MemoryBytes(DType::kI4, DimsOf({3}), {.blocks = {{0, 5}}}), Dim(3));
  const Dim n = Dim::OfSymbol(0);
  EXPECT_EQ(MemoryBytes(DType::kF16, std::vector<Dim>{n, 3}, {{}, {{1, 8}}}),
            n * Dim(16));
}

// The verifier refuses a copy into `layout`, by that invariant.
void ExpectBroken(int invariant, const std::vector<Dim>& dims,
                  const Layout& layout) {
  const std::string head =
      "region invariant " + std::to_string(invariant) + ":";
  Region region = CopyRegion(DType::kF32, dims, {}, {});
  ASSERT_TRUE(VerifyRegion(region).ok()) << VerifyRegion(region);
  region.outputs[0].layout = layout;
  EXPECT_EQ(Message(VerifyRegion(region)).substr(0, head.size()), head);
  std::swap(region.inputs[0].layout, region.outputs[0].layout);
  EXPECT_EQ(Message(VerifyRegion(region)).substr(0, head.size()), head);
  EXPECT_FALSE(DecodeRegion(EncodeRegion(region)).ok());
  EXPECT_FALSE(WithLayouts(region, {}, {}).ok());
}

TEST(Layout, VerifierRefusesEachBrokenInvariant) {
  const std::vector<Dim> dims = DimsOf({4, 17, 6});
  ExpectBroken(10, dims, {.order = {0, 1}});
  ExpectBroken(10, dims, {.order = {0, 1, 1}});
  ExpectBroken(10, dims, {.order = {0, 1, 3}});
  ExpectBroken(10, dims, {.order = {-1, 0, 1}});
  ExpectBroken(11, dims, {.blocks = {{0, 2}, {1, 2}, {2, 2}}});
  ExpectBroken(11, dims, {.blocks = {{1, 8}, {1, 2}}});
  ExpectBroken(11, dims, {.blocks = {{3, 8}}});
  ExpectBroken(11, dims, {.blocks = {{-1, 8}}});
  ExpectBroken(11, dims, {.blocks = {{1, 0}}});
  ExpectBroken(11, dims, {.blocks = {{1, -8}}});
  ExpectBroken(11, dims, {.blocks = {{1, kMaxBlockSize + 1}}});
  ExpectBroken(12, {Dim::OfSymbol(0), 4}, {.blocks = {{0, 8}}});
  ExpectBroken(12, DimsOf({-3, 4}), {.blocks = {{0, 8}}});
  ExpectBroken(12, DimsOf({INT64_MAX, 4}), {.blocks = {{0, 8}}});
  ExpectBroken(12, DimsOf({int64_t{1} << 30, int64_t{1} << 29}),
               {.blocks = {{0, 8}}});
}

TEST(Layout, LayoutsAreOnePerOperandOrNone) {
  const Region region = CopyRegion(DType::kF32, DimsOf({4, 17}), {}, {});
  EXPECT_FALSE(WithLayouts(region, {{}, {}}, {}).ok());
  EXPECT_FALSE(WithLayouts(region, {}, {{}, {}}).ok());
  const Layout blocked = {.blocks = {{1, 8}}};
  const auto packed = WithLayouts(region, {}, {blocked});
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(packed->outputs[0].layout, blocked);
  EXPECT_TRUE(packed->inputs[0].layout.is_row_major());
}

TEST(Layout, TextNamesOrderAndBlocks) {
  const Region region = CopyRegion(DType::kF32, DimsOf({24, 17}),
                                   {.order = {1, 0}}, ReadmeWeights());
  const std::string text = ToText(region);
  EXPECT_NE(text.find("in0 f32[24,17] order=[1,0]\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("out0 f32[24,17] blocks=[16@1,16@0]\n"),
            std::string::npos)
      << text;
}

Extents RandomDims(std::mt19937_64& random) {
  constexpr int64_t kExtents[] = {1, 2, 3, 5, 17, 24, 3, 0};
  Extents dims(1 + random() % 4);
  for (int64_t& dim : dims) {
    dim = kExtents[random() % (random() % 8 == 0 ? 8 : 7)];
  }
  return dims;
}

TEST(Layout, BytesOfRandomLayoutsComeBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    const Extents dims = RandomDims(random);
    const Region region =
        CopyRegion(DType::kF32, DimsOf(dims), RandomLayout(dims, random),
                   RandomLayout(dims, random));
    const std::vector<std::byte> bytes = EncodeRegion(region);
    const StatusOr<Region> decoded = DecodeRegion(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.status() << ToText(region);
    EXPECT_EQ(decoded->inputs[0].layout, region.inputs[0].layout);
    EXPECT_EQ(decoded->outputs[0].layout, region.outputs[0].layout);
    EXPECT_EQ(EncodeRegion(*decoded), bytes);
    EXPECT_EQ(ToText(*decoded), ToText(region));
  }
}

TEST(Layout, DamagedBytesAreRefusedOrAreAnotherRegion) {
  const Region region = CopyRegion(DType::kF32, DimsOf({3, 17}),
                                   {.order = {1, 0}}, ReadmeWeights());
  const std::vector<std::byte> bytes = EncodeRegion(region);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto cut = DecodeRegion(std::span(bytes).first(size));
    EXPECT_EQ(cut.status().code(), StatusCode::kDataLoss);
  }
  // Whatever a changed byte makes of it is refused or can be run.
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int value : {1, 2, 4, 8, 16, 32, 64, 128, 127, 255}) {
      std::vector<std::byte> changed = bytes;
      changed[at] ^= std::byte(value);
      const auto decoded = DecodeRegion(changed);
      if (!decoded.ok()) {
        EXPECT_EQ(decoded.status().code(), StatusCode::kDataLoss);
        continue;
      }
      (void)ToText(*decoded);
      std::vector<std::byte> memory(1 << 14);
      const auto size = static_cast<int64_t>(memory.size());
      const Buffer in{memory.data(), size / 2};
      const Buffer out{memory.data() + size / 2, size / 2};
      if (decoded->inputs.size() != 1 || decoded->outputs.size() != 1) continue;
      const std::vector<int64_t> symbols(std::min(decoded->symbols, 256u), 3);
      if (decoded->symbols <= symbols.size()) {
        (void)Interpret(*decoded, symbols, {&in, 1}, {&out, 1});
      }
    }
  }
}

TEST(Layout, OtherVersionsAreNamed) {
  std::vector<std::byte> bytes =
      EncodeRegion(CopyRegion(DType::kF32, DimsOf({3}), {}, {}));
  bytes[3] = std::byte('2');
  EXPECT_EQ(Message(DecodeRegion(bytes).status()),
            "a region of another format version");
  bytes[0] = std::byte('X');
  EXPECT_EQ(Message(DecodeRegion(bytes).status()), "not a region");
}

// Interprets on one input and one output.
Status RunOne(const Region& region, const Literal& in, Literal* out) {
  const Buffer input = {const_cast<std::byte*>(in.bytes().data()),
                        static_cast<int64_t>(in.bytes().size())};
  const Buffer output = BufferOf(out);
  return Interpret(region, {}, {&input, 1}, {&output, 1});
}

TEST(Layout, InterpreterPacksAndUnpacks) {
  std::mt19937_64 random(2);
  constexpr DType kDTypes[] = {DType::kF32, DType::kI8,   DType::kI4,
                               DType::kF64, DType::kBF16, DType::kBool};
  for (int i = 0; i < 300; ++i) {
    const DType dtype = kDTypes[i % 6];
    const Extents dims = RandomDims(random);
    const Layout from = RandomLayout(dims, random);
    const Layout to = RandomLayout(dims, random);
    const Literal plain = RandomLiteral(dtype, dims, i);
    const Region region = CopyRegion(dtype, DimsOf(dims), from, to);
    SCOPED_TRACE(ToText(region));
    ASSERT_TRUE(VerifyRegion(region).ok()) << VerifyRegion(region);
    Literal packed = Garbage(dtype, dims, to);
    ASSERT_TRUE(RunOne(region, Pack(plain, from), &packed).ok());
    EXPECT_EQ(Unpack(packed, dims, to), plain);
    EXPECT_EQ(CountStray(packed, dims, to), 0);
    // Padding is never looked at by a copy.
    Literal back(dtype, dims);
    ASSERT_TRUE(
        RunOne(CopyRegion(dtype, DimsOf(dims), to, {}), packed, &back).ok());
    EXPECT_EQ(back, plain);
  }
}

TEST(Layout, WhoWritesAFewElementsClearsThePaddingToo) {
  const Extents dims = {17, 3};
  const Layout layout = {.blocks = {{1, 8}, {0, 16}}};
  Region region = CopyRegion(DType::kF32, DimsOf(dims), {}, layout);
  region.extents[0] = 2;  // rows 0 and 1
  const Literal plain = RandomLiteral(DType::kF32, dims, 3);
  const Literal before = RandomLiteral(DType::kF32, dims, 4);
  Literal dirty = Garbage(DType::kF32, dims, layout);
  const Region init = CopyRegion(DType::kF32, DimsOf(dims), {}, layout);
  ASSERT_TRUE(RunOne(init, before, &dirty).ok());
  ASSERT_EQ(CountStray(dirty, dims, layout), 0);
  // All zeros are padding; the drawn elements are none.
  for (int64_t i = 0; i < dirty.element_count(); ++i) {
    if (dirty.AsDouble(i) == 0) dirty.SetDouble(i, 7);
  }
  ASSERT_EQ(Unpack(dirty, dims, layout), before);
  for (const Update update : {Update::kSet, Update::kAdd}) {
    region.stages[0].stores[0].update = update;
    Literal out = *Literal::Copy(dirty.dtype(), dirty.dims(), dirty.bytes());
    ASSERT_TRUE(RunOne(region, plain, &out).ok());
    EXPECT_EQ(CountStray(out, dims, layout), 0);
    const Literal after = Unpack(out, dims, layout);
    for (int64_t i = 0; i < after.element_count(); ++i) {
      const float sum = static_cast<float>(plain.AsDouble(i)) +
                        static_cast<float>(before.AsDouble(i));
      EXPECT_EQ(after.AsDouble(i), i >= 6                   ? before.AsDouble(i)
                                   : update == Update::kAdd ? sum
                                                            : plain.AsDouble(i))
          << i;
    }
  }
}

TEST(Layout, PaddingIsNoElement) {
  // Beyond the extent a checked load gives its fill, though a zero lies there.
  const Layout layout = {.blocks = {{0, 8}}};
  Region region = CopyRegion(DType::kF32, DimsOf({8}), {}, {});
  region.inputs[0].dims = DimsOf({3});
  region.inputs[0].layout = layout;
  Expr fill;
  fill.bits = 0x40e00000;  // 7
  region.exprs.insert(region.exprs.begin(), fill);
  region.stages[0].stores[0].value = ExprId(1);
  region.accesses[0].checked = true;
  region.accesses[0].fill = ExprId(0);
  ASSERT_TRUE(VerifyRegion(region).ok()) << VerifyRegion(region);
  const Literal plain = Literal::FromValues<float>({3}, {1, 2, 3});
  Literal out(DType::kF32, {8});
  ASSERT_TRUE(RunOne(region, Pack(plain, layout), &out).ok());
  EXPECT_EQ(out, Literal::FromValues<float>({8}, {1, 2, 3, 7, 7, 7, 7, 7}));
  // An access that is not checked must stay below the extent.
  region.accesses[0].checked = false;
  EXPECT_EQ(RunOne(region, Pack(plain, layout), &out).code(),
            StatusCode::kOutOfRange);
}

TEST(Layout, BuffersHoldThePadding) {
  const Region region =
      CopyRegion(DType::kF32, DimsOf({3}), {}, {.blocks = {{0, 8}}});
  std::vector<float> in(3), out(8);
  const Buffer input{in.data(), 12}, whole{out.data(), 32};
  const Buffer dense{out.data(), 31};
  EXPECT_TRUE(Interpret(region, {}, {&input, 1}, {&whole, 1}).ok());
  EXPECT_EQ(Interpret(region, {}, {&input, 1}, {&dense, 1}).code(),
            StatusCode::kOutOfRange);
}

TEST(Layout, WorkCountsThePadding) {
  const std::vector<Dim> dims = DimsOf({2, 17, 5});
  const Work plain = EstimateWork(CopyRegion(DType::kF32, dims, {}, {}), {});
  const Work packed = EstimateWork(
      CopyRegion(DType::kF32, dims, {}, {.blocks = {{1, 16}}}), {});
  EXPECT_EQ(plain.written_bytes, 2 * 17 * 5 * 4);
  EXPECT_EQ(packed.read_bytes, plain.read_bytes);
  EXPECT_DOUBLE_EQ(packed.written_bytes, 2 * 32 * 5 * 4);
  const Work unpacked = EstimateWork(
      CopyRegion(DType::kF32, dims, {.blocks = {{1, 16}, {2, 8}}}, {}), {});
  EXPECT_DOUBLE_EQ(unpacked.read_bytes, 2 * 32 * 8 * 4);
  EXPECT_EQ(unpacked.written_bytes, plain.written_bytes);
}

}  // namespace
}  // namespace encore::backends
