#include "encore/backends/cuda/library/recipe.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

using ::testing::EndsWith;

constexpr uint32_t kReads = 5, kWrites = 2;

LibraryParams Sample() {
  LibraryParams params;
  LibraryRecipe& recipe = params.recipe;
  recipe.library = kCublasLt;
  recipe.version = kCublasLtMajor;
  recipe.rows = 7;
  recipe.columns = 300;
  recipe.depth = 20;
  recipe.batch = 4;
  recipe.compute = LibraryRecipe::Compute::kF32;
  recipe.relu = true;
  recipe.a = {DType::kF16, 1, 8, 20, 140, true};
  recipe.b = {DType::kF16, 0, 0, 20, 6000, false};
  recipe.d = {DType::kF32, 0, 0, 7, 2100, false};
  recipe.c = LibraryRecipe::Matrix{DType::kF32, 2, 0, 7, 2100, false};
  recipe.bias = LibraryRecipe::Matrix{DType::kF32, 4, 16, 0, 0, false};
  recipe.workspace_bytes = 1 << 20;
  recipe.alignment = 8;
  params.generated = "split_tiles";
  params.generated_writes = 2;
  params.params = {std::byte{1}, std::byte{0}, std::byte{200}};
  return params;
}

TEST(LibraryRecipe, IsReadAsItWasWritten) {
  LibraryParams params = Sample();
  for (int parts = 0; parts < 2; ++parts) {
    const auto bytes = Encode(params);
    EXPECT_TRUE(HasRecipe(bytes));
    const auto read = DecodeLibraryParams(bytes, kReads, kWrites);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, params);
    params.recipe.c.reset();
    params.recipe.bias.reset();
  }
  EXPECT_FALSE(HasRecipe({}));
  EXPECT_FALSE(HasRecipe(params.params));
}

std::string ErrorOf(const LibraryParams& params, uint32_t reads = kReads,
                    uint32_t writes = kWrites) {
  const Status status =
      DecodeLibraryParams(Encode(params), reads, writes).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss) << status;
  return std::string(Message(status));
}

TEST(LibraryRecipe, BuffersAreThoseOfTheStep) {
  EXPECT_THAT(ErrorOf(Sample(), 4), EndsWith(": bias.buffer"));
  EXPECT_THAT(ErrorOf(Sample(), 1), EndsWith(": a.buffer"));
  LibraryParams params = Sample();
  params.recipe.d.buffer = 2;
  EXPECT_THAT(ErrorOf(params), EndsWith(": d.buffer"));
  // The workspace has no write.
  params = Sample();
  params.generated_writes = 1;
  EXPECT_THAT(ErrorOf(params, kReads, 1), EndsWith(": workspace_bytes"));
  params.generated_writes = 3;
  EXPECT_THAT(ErrorOf(params), EndsWith(": generated_writes"));
}

using R = LibraryRecipe;
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kInt = std::numeric_limits<int32_t>::max();

// Of f64, with nothing behind the product.
void Widen(R& r) {
  r.compute = R::Compute::kF64;
  r.a.dtype = r.b.dtype = r.d.dtype = DType::kF64;
  r.relu = false;
  r.c.reset();
  r.bias.reset();
}

// A value for a field that no recipe has, and one beside it that some have.
struct Change {
  const char* field;
  void (*unsound)(R& recipe);
  void (*sound)(R& recipe);
};

constexpr Change kChanges[] = {
    {"rows", [](R& r) { r.rows = 0; }, [](R& r) { r.rows = 1; }},
    {"rows", [](R& r) { r.rows = kInt + 1; }, [](R&) {}},
    {"columns", [](R& r) { r.columns = kMost; }, [](R& r) { r.columns = 1; }},
    {"depth", [](R& r) { r.depth = kInt + 1; }, [](R& r) { r.depth = 3; }},
    {"batch", [](R& r) { r.batch = kInt + 1; }, [](R& r) { r.batch = kInt; }},
    {"compute", [](R& r) { r.compute = R::Compute::kTF32; }, [](R&) {}},
    {"compute", [](R& r) { r.compute = R::Compute::kF64; }, Widen},
    {"compute",
     [](R& r) {
       Widen(r);
       r.compute = R::Compute::kF32;
     },
     Widen},
    {"compute", [](R& r) { r.a.dtype = DType::kI32; }, [](R&) {}},
    {"b.dtype", [](R& r) { r.b.dtype = DType::kBF16; }, [](R&) {}},
    {"d.dtype", [](R& r) { r.d.dtype = DType::kBF16; },
     [](R& r) { r.d.dtype = r.c->dtype = r.bias->dtype = DType::kF16; }},
    {"c.dtype", [](R& r) { r.c->dtype = DType::kF16; }, [](R&) {}},
    {"bias.dtype", [](R& r) { r.bias->dtype = DType::kI64; }, [](R&) {}},
    {"relu",
     [](R& r) {
       Widen(r);
       r.relu = true;
     },
     Widen},
    {"c",
     [](R& r) {
       Widen(r);
       r.c = r.d;
     },
     Widen},
    {"bias",
     [](R& r) {
       Widen(r);
       r.bias = R::Matrix{DType::kF64};
     },
     Widen},
    {"a.pitch", [](R& r) { r.a.pitch = 19; }, [](R& r) { r.a.pitch = 21; }},
    {"b.pitch", [](R& r) { r.b.pitch = 0; }, [](R& r) { r.b.pitch = kInt; }},
    {"d.pitch", [](R& r) { r.d.pitch = 6; }, [](R&) {}},
    {"c.pitch", [](R& r) { r.c->pitch = 6; }, [](R& r) { r.c->pitch = 9; }},
    {"bias.pitch", [](R& r) { r.bias->pitch = 1; }, [](R&) {}},
    {"bias.batch_stride", [](R& r) { r.bias->batch_stride = 7; }, [](R&) {}},
    {"d.transposed", [](R& r) { r.d.transposed = true; }, [](R&) {}},
    {"c.transposed", [](R& r) { r.c->transposed = true; }, [](R&) {}},
    {"a.offset", [](R& r) { r.a.offset = kMost; },
     [](R& r) { r.a.offset = kMost / 4; }},
    {"a.offset", [](R& r) { r.a.pitch = kMost / 4; },
     [](R& r) { r.a.pitch = kMost / 64; }},
    {"b.offset", [](R& r) { r.b.batch_stride = kMost / 4; },
     [](R& r) { r.b.batch_stride = 0; }},
    {"bias.offset", [](R& r) { r.bias->offset = kMost / 4; }, [](R&) {}},
    // Results of batches on one another, and beside one another.
    {"d.batch_stride", [](R& r) { r.d.batch_stride = 2099; }, [](R&) {}},
    {"d.batch_stride",
     [](R& r) {
       r.d.batch_stride = 7;
       r.d.pitch = 27;
     },
     [](R& r) {
       r.d.batch_stride = 7;
       r.d.pitch = 28;
     }},
    {"a.offset", [](R& r) { r.a.offset = -1; }, [](R& r) { r.a.offset = 0; }},
    {"d.batch_stride", [](R& r) { r.d.batch_stride = -1; }, [](R&) {}},
    {"workspace_bytes", [](R& r) { r.workspace_bytes = -1; },
     [](R& r) { r.workspace_bytes = 0; }},
    {"alignment", [](R& r) { r.alignment = 0; }, [](R& r) { r.alignment = 1; }},
    {"alignment", [](R& r) { r.alignment = 12; },
     [](R& r) { r.alignment = 256; }},
    {"alignment", [](R& r) { r.alignment = 512; }, [](R&) {}},
};

TEST(LibraryRecipe, UnsoundFieldsAreNamed) {
  for (const Change& change : kChanges) {
    LibraryParams params = Sample();
    change.sound(params.recipe);
    EXPECT_EQ(UnsoundField(params.recipe), "") << change.field;
    const auto read = DecodeLibraryParams(Encode(params), kReads, kWrites);
    EXPECT_TRUE(read.ok()) << read.status();
    params = Sample();
    change.unsound(params.recipe);
    EXPECT_EQ(UnsoundField(params.recipe), change.field);
    EXPECT_THAT(ErrorOf(params), EndsWith(StrCat(": ", change.field)));
  }
}

// Its generated kernel is known all the same.
TEST(LibraryRecipe, OfAnotherLibrary) {
  LibraryParams params = Sample();
  params.recipe.library = "another";
  const auto read = DecodeLibraryParams(Encode(params), kReads, kWrites);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->recipe.library, "another");
  EXPECT_EQ(read->generated, params.generated);
  EXPECT_EQ(read->params, params.params);
  EXPECT_EQ(read->recipe.rows, 0);
}

TEST(LibraryRecipe, OtherBytesAreRefusedOrAnotherRecipe) {
  const auto bytes = Encode(Sample());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(DecodeLibraryParams(std::span(bytes).first(size), kReads, kWrites)
                  .status()
                  .code(),
              StatusCode::kDataLoss)
        << size;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    auto changed = bytes;
    for (uint32_t n = 0; n <= random() % 3; ++n) {
      changed[random() % changed.size()] = static_cast<std::byte>(random());
    }
    const auto read = DecodeLibraryParams(changed, kReads, kWrites);
    if (!read.ok()) {
      EXPECT_EQ(read.status().code(), StatusCode::kDataLoss);
    } else if (read->recipe.library == kCublasLt) {
      EXPECT_LT(read->recipe.a.buffer, kReads);
      EXPECT_EQ(Encode(*read), changed);
    }
  }
}

}  // namespace
}  // namespace encore::backends::cuda
