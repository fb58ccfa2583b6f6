#include "encore/backends/cpu/image.h"

#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cpu/codegen/compiler.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/elf/image_linker.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

using Bytes = std::vector<std::byte>;

StatusOr<Bytes> CompileImage(const std::vector<std::string>& modules) {
  ENCORE_ASSIGN_OR_RETURN(const std::vector<std::string> objects,
                          CompileObjects(modules, Isa::kAvx2, 2));
  return LinkImage(objects);
}

// Two functions: f(x) = x + 1 and g(x) = 2 x.
Bytes SmallImage() {
  const std::vector<std::string> modules = {
      "define i32 @f(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n",
      "define i32 @g(i32 %x) {\n  %y = mul i32 %x, 2\n  ret i32 %y\n}\n"};
  StatusOr<Bytes> image = CompileImage(modules);
  EXPECT_TRUE(image.ok()) << image.status();
  return image.ok() ? *std::move(image) : Bytes();
}

TEST(Image, LoadsAndRuns) {
  const Bytes bytes = SmallImage();
  const auto image = Image::Load(bytes, ImageDigest(bytes));
  ASSERT_TRUE(image.ok()) << image.status();
  const auto f =
      reinterpret_cast<int (*)(int)>(const_cast<void*>((*image)->Find("f")));
  const auto g =
      reinterpret_cast<int (*)(int)>(const_cast<void*>((*image)->Find("g")));
  ASSERT_NE(f, nullptr);
  ASSERT_NE(g, nullptr);
  EXPECT_EQ(f(41), 42);
  EXPECT_EQ(g(21), 42);
  EXPECT_EQ((*image)->Find("h"), nullptr);
}

TEST(Image, TheSameModulesGiveTheSameBytes) {
  EXPECT_EQ(SmallImage(), SmallImage());
}

TEST(Image, AnyFlippedBitIsSeenByTheDigest) {
  Bytes bytes = SmallImage();
  const uint64_t digest = ImageDigest(bytes);
  for (size_t bit = 0; bit < bytes.size() * 8; bit += 7) {
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(Image::Load(bytes, digest).ok());
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
  }
}

// Structure only: whatever a flipped bit does, the check ends and what it lets
// pass can be searched for a function.
TEST(Image, HostileBytesAreBounded) {
  const Bytes bytes = SmallImage();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes mutant = bytes;
    mutant[bit / 8] ^= std::byte{1} << bit % 8;
    const auto image = Image::Load(mutant, std::nullopt);
    if (image.ok()) (*image)->Find("f");
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    Image::Verify({bytes.data(), size}).IgnoreError();
  }
  EXPECT_FALSE(Image::Verify({bytes.data(), size_t{100}}).ok());
  EXPECT_FALSE(Image::Load({}, std::nullopt).ok());
}

TEST(Image, ImportsAreRefused) {
  const std::vector<std::string> modules = {
      "declare void @elsewhere()\ndefine void @f() {\n  call void "
      "@elsewhere()\n  ret void\n}\n"};
  EXPECT_FALSE(CompileImage(modules).ok());
}

TEST(Image, FaultsInGeneratedCodeAreReported) {
  const StatusOr<Bytes> image = CompileImage({"define nonsense"});
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), StatusCode::kInternal);
}

TEST(CpuFeatures, WhatTheMachineLacksIsNamed) {
  EXPECT_TRUE(CheckRequirements({}).ok());
  const std::vector<std::string> wanted = {"telepathy"};
  const Status status = CheckRequirements(wanted);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(status).find("telepathy"), std::string::npos);
  EXPECT_EQ(ParseIsa("avx512"), Isa::kAvx512);
  EXPECT_EQ(ParseIsa("mmx"), std::nullopt);
}

}  // namespace
}  // namespace encore::backends::cpu
