// Products without tensor cores: what their machine code takes, and sizes that
// are known at run time.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/compile.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/cuda/candidates.h"
#include "encore/backends/cuda/testing/batched_backend.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/build/builder.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/transform/decompose.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

constexpr Architecture kArchitectures[] = {{8, 0}, {9, 0, true}, {10, 0, true}};

struct Product {
  int m = 4096, k = 4096, n = 4096;
  bool along_m = false, along_k = false;  // of x, of y
  std::string_view dtype = "f32";
  std::string_view follows = "";  // of p, as r

  std::string ToText() const {
    const std::string x = along_m ? StrCat(k, ",", m) : StrCat(m, ",", k);
    const std::string y = along_k ? StrCat(n, ",", k) : StrCat(k, ",", n);
    return StrCat("graph g(%x: ", dtype, "[", x, "], %y: ", dtype, "[", y,
                  "], %z: ", dtype, "[", m, ",", n, "]) -> ", dtype, "[", m,
                  ",", n, "] {\n  %p = dot_general(%x, %y) {contract = [",
                  along_m ? 0 : 1, "]x[", along_k ? 1 : 0, "]}\n", follows,
                  "  return %", follows.empty() ? "p" : "r", "\n}");
  }
};

// Compiles the kernels of that name, whichever of them there are.
BatchedBackend::Figures FiguresOf(const std::vector<std::string>& texts,
                                  std::vector<std::string_view> kernels) {
  BatchedBackend cuda;
  CompileOptions options;
  options.target = "cuda:h100";
  for (const std::string& text : texts) {
    const auto graph = DecomposeAll(ParsedGraph(text));
    const BuiltRegion built = BuildWhole(*graph);
    const KernelRequest request{
        &built.region, std::vector<bool>(built.inputs.size()), {}};
    for (const Candidate& candidate : CandidatesOf(request, options)) {
      if (std::ranges::find(kernels, candidate.kernel) == kernels.end()) {
        continue;
      }
      const CompileRequest one{request, candidate};
      cuda.set_preferred({candidate.kernel});
      const auto compiled = cuda.Compile({&one, 1}, options, nullptr);
      EXPECT_TRUE(compiled.ok()) << compiled.status();
      const Status checked = cuda.CheckMachineCode(kArchitectures);
      EXPECT_TRUE(checked.ok()) << text << candidate.kernel << ": " << checked;
    }
  }
  return cuda.figures();
}

// Two blocks of the largest tiles share a multiprocessor.
TEST(ProductsCode, LargestTiles) {
  std::vector<std::string> texts;
  constexpr std::string_view kFollows = "  %t = tanh(%p)\n  %r = add(%t, %z)\n";
  for (const bool along_m : {false, true}) {
    for (const bool along_k : {false, true}) {
      for (const int size : {4096, 4100}) {
        for (const std::string_view follows : {std::string_view(), kFollows}) {
          texts.push_back(Product{.m = size,
                                  .k = size,
                                  .n = size,
                                  .along_m = along_m,
                                  .along_k = along_k,
                                  .follows = follows}
                              .ToText());
        }
      }
    }
  }
  const BatchedBackend::Figures figures = FiguresOf(texts, {kTiles});
  EXPECT_GE(figures.functions, texts.size());
  EXPECT_EQ(figures.most_frame_bytes, 0u);
  EXPECT_LE(figures.most_registers, 128u);
  EXPECT_LE(figures.most_shared_bytes, 20u * 1024);
}

TEST(ProductsCode, NoneSpills) {
  std::vector<std::string> texts = {
      Product{.m = 4099, .k = 4099, .n = 4099}.ToText(),
      Product{.dtype = "f64"}.ToText(),
      Product{.dtype = "i32"}.ToText(),
      Product{.dtype = "bf16"}.ToText(),
      Product{.m = 4096, .n = 24}.ToText(),
      Product{.m = 1000, .n = 1000}.ToText(),
      R"(graph g(%x: f32[32,128,56,56], %w: f32[128,128,3,3]) -> f32[32,128,56,56] {
  %y = convolution(%x, %w) {strides = [1,1], padding_low = [1,1], padding_high = [1,1], lhs_dilation = [1,1], rhs_dilation = [1,1]}
  return %y
})",
      R"(graph g(%x: f32[4096,4096], %s: f32[4096], %y: f32[4096,4096]) -> f32[4096,4096] {
  %b = broadcast(%s) {shape = [4096,4096], axes = [1]}
  %m = mul(%x, %b)
  %t = tanh(%m)
  %p = dot_general(%t, %y) {contract = [1]x[1]}
  return %p
})"};
  for (const int rows : {1, 4, 8, 16, 32}) {
    for (const bool along_k : {false, true}) {
      for (const char* dtype : {"f32", "f64"}) {
        texts.push_back(
            Product{.m = rows, .along_k = along_k, .dtype = dtype}.ToText());
      }
    }
  }
  const BatchedBackend::Figures figures =
      FiguresOf(texts, {kTiles, kSplitTiles});
  EXPECT_GT(figures.functions, texts.size());
  EXPECT_EQ(figures.most_frame_bytes, 0u);
  EXPECT_LE(figures.most_shared_bytes, 48u * 1024);
}

// Whether factors lie in groups or are loaded one by one.
TEST(ProductsCode, TensorTilesDoNotSpill) {
  std::vector<std::string> texts = {
      R"(graph g(%x: f16[32,256,14,14], %w: f16[256,256,3,3]) -> f16[32,256,14,14] {
  %y = convolution(%x, %w) {strides = [1,1], padding_low = [1,1], padding_high = [1,1], lhs_dilation = [1,1], rhs_dilation = [1,1]}
  return %y
})"};
  for (const bool along_m : {false, true}) {
    for (const bool along_k : {false, true}) {
      for (const int size : {4096, 4100, 4097}) {
        texts.push_back(Product{.m = size,
                                .k = size,
                                .n = size,
                                .along_m = along_m,
                                .along_k = along_k,
                                .dtype = "f16"}
                            .ToText());
      }
    }
  }
  texts.push_back(Product{.m = 16, .dtype = "bf16"}.ToText());
  const BatchedBackend::Figures figures =
      FiguresOf(texts, {kTensorTiles, kSplitTensorTiles});
  EXPECT_GT(figures.functions, texts.size());
  EXPECT_EQ(figures.most_frame_bytes, 0u);
}

// Whether rows lie in groups is then known when the program runs.
TEST(ProductsCode, SizesKnownAtRunTime) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kI32, {200, 40}});
  const Value y = g.Input("y", {DType::kI32, {24, 40}});
  const Value n = g.Input("n", {DType::kI64, {}});
  const Dim count = g.Symbol("count", 0, 200, /*at_run_time=*/true);
  g.DefineSymbols(n, {count});
  const Value part = g.Slice(x, {0, 0}, {count, 40});
  // Rows of `count` elements.
  const Value wide = g.MatMul(y, g.Transpose(part, {1, 0}));
  const Value turned = g.Transpose(wide, {1, 0});
  const auto graph =
      g.Build({{"rows", g.MatMul(part, g.Transpose(y, {1, 0}))},
               {"columns", g.MatMul(g.Transpose(y, {1, 0}), wide)},
               {"depth", g.MatMul(wide, part)},
               {"depths", g.MatMul(wide, turned)},
               {"all", g.MatMul(turned, wide)}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  BatchedBackend cuda;
  cuda.set_preferred({kTiles});
  const Backend* const backends[] = {&cuda};
  CompileOptions options;
  options.target = "cuda";
  const auto compiled = Compile(*graph, options, backends);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const Status status = cuda.CompileKernels();
  ASSERT_TRUE(status.ok()) << status;
  Literal rows(DType::kI32, {200, 40}), others(DType::kI32, {24, 40});
  for (int64_t i = 0; i < 8000; ++i) rows.SetInt(i, i * 7919 % 101 - 50);
  for (int64_t i = 0; i < 960; ++i) others.SetInt(i, i * 31 % 23 - 11);
  for (const int64_t size : {0, 1, 4, 37, 64, 66, 132, 200}) {
    const std::vector<Literal> arguments = {rows, others,
                                            Literal::Scalar<int64_t>(size)};
    const auto expected = Evaluate(*graph, arguments);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const auto outputs = Replay(*graph, *compiled, backends, arguments);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_TRUE(*outputs == *expected) << size;
  }
}

}  // namespace
}  // namespace encore::backends::cuda
