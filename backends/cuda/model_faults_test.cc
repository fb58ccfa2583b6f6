// Compiled models on a driver whose calls fail, one after the other.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/compile.h"
#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/cuda/cuda_backend.h"
#include "encore/backends/cuda/device.h"
#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/fake/fake_driver.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

using fake::FakeDriver;
using Leaks = std::vector<std::string>;

struct Model {
  const char* name;
  const char* text;
};

constexpr Model kModels[] = {
    {"Layers", R"(
graph g(%x: f32[6,20], %w: param f32[20,24], %v: param f32[24,9]) -> f32[6,9] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  %r = relu(%p)
  %q = dot_general(%r, %v) {contract = [1]x[0]}
  %y = softmax(%q) {axis = 1}
  return %y
})"},
    {"Image", R"(
graph g(%x: f16[1,2,4,4], %w: param f16[4,2,3,3], %s: param f16[4],
        %b: param f16[4]) -> f16[4,4,4], f16[4] {
  %c = convolution(%x, %w) {strides = [1,1], padding_low = [1,1],
    padding_high = [1,1], lhs_dilation = [1,1], rhs_dilation = [1,1]}
  %r = reshape(%c) {shape = [4,4,4]}
  %y = layer_norm(%r, %s, %b) {axis = 2}
  %m = reduce(%y) {axes = [1,2], combiner = max}
  return %y, %m
})"},
    // One launch merges what another leaves in scratch memory.
    {"LongSum", R"(
graph g(%x: f32[1,36000], %b: param f32[1]) -> f32[1] {
  %s = reduce(%x) {axes = [1], combiner = sum}
  %y = add(%s, %b)
  return %y
})"},
};

constexpr std::string_view kFunctions[] = {
#define ENCORE_CUDA_FUNCTION(name, ...) #name,
#include "encore/backends/cuda/driver/functions.def"
#undef ENCORE_CUDA_FUNCTION
};

// Whose devices the backend gives.
FakeDriver* present = nullptr;

class ModelFaults : public testing::TestWithParam<Model> {
 protected:
  ModelFaults() : fake_(FakeDriver::New({.seed = 3})) { present = fake_.get(); }
  ~ModelFaults() override { present = nullptr; }

  StatusOr<std::vector<Literal>> Run(const Graph& graph,
                                     const runtime::CompiledGraph& compiled,
                                     const std::vector<Literal>& arguments) {
    const Backend* const backends[] = {cuda_.get()};
    return Replay(graph, compiled, backends, arguments);
  }

  const std::shared_ptr<FakeDriver> fake_;
  const std::unique_ptr<Backend> cuda_ = NewCudaBackend([](uint32_t ordinal) {
    return NewDevice(present->driver(), ordinal, "cuda");
  });
};

// Loads, prepares weights, replays, records and replays what is recorded.
TEST_P(ModelFaults, AnyCallMayFail) {
  constexpr int64_t kMostCalls = 40;  // of each function
  const Graph graph = ParsedGraph(GetParam().text);
  const std::vector<Literal> arguments = RandomArguments(graph, 1);
  const auto bounds = EvaluateBounds(graph, arguments);
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  CompileOptions options;
  options.target = "cuda";
  const Backend* const backends[] = {cuda_.get()};
  const auto compiled = Compile(graph, options, backends);
  ASSERT_TRUE(compiled.ok()) << compiled.status();

  for (const std::string_view function : kFunctions) {
    fake_->FailCall(function, -1, Result::kSuccess);
  }
  ASSERT_TRUE(Run(graph, *compiled, arguments).ok());
  std::vector<int64_t> counts;
  for (const std::string_view function : kFunctions) {
    counts.push_back(std::min(fake_->calls(function), kMostCalls));
  }
  int64_t made = 0, errors = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const std::string_view function = kFunctions[i];
    for (int64_t k = 0; k < counts[i]; ++k, ++made) {
      fake_->FailCall(function, k,
                      k % 2 == 0 ? Result::kUnknown : Result::kOutOfMemory);
      const auto outputs = Run(graph, *compiled, arguments);
      errors += !outputs.ok();
      if (outputs.ok()) {
        EXPECT_EQ(Difference(*outputs, *bounds), std::nullopt)
            << function << " " << k;
      }
      EXPECT_EQ(fake_->leaks(), Leaks()) << function << " " << k;
      fake_->FailCall(function, -1, Result::kSuccess);
    }
    const auto again = Run(graph, *compiled, arguments);
    ASSERT_TRUE(again.ok()) << function << ": " << again.status();
    ASSERT_EQ(Difference(*again, *bounds), std::nullopt) << function;
  }
  std::cout << made << " calls made to fail, " << errors << " were errors\n";
  EXPECT_GT(errors, 30);
}

INSTANTIATE_TEST_SUITE_P(Models, ModelFaults, testing::ValuesIn(kModels),
                         [](const testing::TestParamInfo<Model>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace encore::backends::cuda
