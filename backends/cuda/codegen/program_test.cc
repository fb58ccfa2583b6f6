#include "encore/backends/cuda/codegen/program.h"

#include <string>
#include <vector>

#include "encore/backends/cuda/codegen/device_compiler.h"
#include "encore/backends/cuda/module_file.h"
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
  const std::string text = program.Text();
  const auto files = CompilePrograms({&text, 1}, {{8, 0}, {9, 0, true}}, 2);
  ASSERT_TRUE(files.ok()) << files.status();
  const auto images = DecodeModule(files->at(0));
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_EQ(Name(ChooseImage(*images, {9, 0}, 13000)->architecture), "sm_90a");
  EXPECT_EQ(Name(ChooseImage(*images, {8, 6}, 13000)->architecture), "sm_80");
  EXPECT_EQ(ChooseImage(*images, {12, 0}, 13000)->kind,
            ModuleImage::Kind::kPtx);
  EXPECT_EQ(ChooseImage(*images, {9, 0}, 12080), nullptr);
}

// What comes out does not depend on how many are compiled at a time.
TEST(KernelProgram, Threads) {
  std::vector<std::string> texts;
  for (int i = 0; i < 5; ++i) {
    KernelProgram program;
    program.Add(Function(i));
    texts.push_back(program.Text());
  }
  const std::vector<Architecture> architectures = {{8, 0}, {9, 0}};
  const auto one = CompilePrograms(texts, architectures, 1);
  const auto many = CompilePrograms(texts, architectures, 4);
  ASSERT_TRUE(one.ok() && many.ok()) << one.status() << many.status();
  EXPECT_EQ(*one, *many);
  texts[2] += "wrong";
  texts[4] += "wrong too";
  const Status failed = CompilePrograms(texts, architectures, 4).status();
  EXPECT_EQ(failed.code(), StatusCode::kInternal);
  EXPECT_EQ(failed, CompilePrograms(texts, architectures, 1).status());
}

TEST(KnownArchitectures, AreThoseOfTheLibrary) {
  for (const Architecture& architecture : KnownArchitectures()) {
    const auto code =
        CompileDeviceCode("extern \"C\" __global__ void k() {}", architecture);
    EXPECT_TRUE(code.ok()) << Name(architecture) << ": " << code.status();
  }
}

}  // namespace
}  // namespace encore::backends::cuda
