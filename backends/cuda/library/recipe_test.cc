#include "encore/backends/cuda/library/recipe.h"

#include <cstddef>
#include <random>

#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

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
  recipe.compute = LibraryRecipe::Compute::kTF32;
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

TEST(LibraryRecipe, BuffersAreThoseOfTheStep) {
  const auto bytes = Encode(Sample());
  EXPECT_EQ(DecodeLibraryParams(bytes, 4, kWrites).status().code(),
            StatusCode::kDataLoss);
  // The workspace has no write.
  EXPECT_EQ(DecodeLibraryParams(bytes, kReads, 1).status().code(),
            StatusCode::kDataLoss);
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
