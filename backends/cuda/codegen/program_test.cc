#include "encore/backends/cuda/codegen/program.h"

#include <string>

#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

std::string Function(int number) {
  return "extern \"C\" __global__ void ENTRY(int* out) { *out = " +
         std::to_string(number) + "; }\n";
}

// What a program is does not depend on the order in which it was made.
TEST(KernelProgram, OrderAndRepeats) {
  KernelProgram a, b;
  const std::string one = a.Add(Function(1)), two = a.Add(Function(2));
  EXPECT_NE(one, two);
  EXPECT_EQ(b.Add(Function(2)), two);
  EXPECT_EQ(b.Add(Function(1)), one);
  EXPECT_EQ(b.Add(Function(2)), two);
  EXPECT_EQ(a.size(), 2u);
  EXPECT_EQ(b.size(), 2u);
  EXPECT_EQ(a.Text(), b.Text());
  EXPECT_EQ(a.Text().find(kEntryPlaceholder), std::string::npos);
}

TEST(KernelProgram, ImagesByArchitecture) {
  KernelProgram program;
  program.Add(Function(3));
  const auto file = CompileProgram(program, {{8, 0}, {9, 0, true}});
  ASSERT_TRUE(file.ok()) << file.status();
  const auto images = DecodeModule(*file);
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_EQ(Name(ChooseImage(*images, {9, 0}, 13000)->architecture), "sm_90a");
  EXPECT_EQ(Name(ChooseImage(*images, {8, 6}, 13000)->architecture), "sm_80");
  EXPECT_EQ(ChooseImage(*images, {12, 0}, 13000)->kind,
            ModuleImage::Kind::kPtx);
  EXPECT_EQ(ChooseImage(*images, {9, 0}, 12080), nullptr);
}

}  // namespace
}  // namespace encore::backends::cuda
