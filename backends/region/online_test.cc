#include "encore/backends/region/online.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "encore/backends/region/interpreter.h"
#include "encore/backends/region/verify.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/transform/decompose.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

Region RegionOf(const std::string& text) {
  const StatusOr<Graph> primitives = DecomposeAll(ParsedGraph(text));
  EXPECT_TRUE(primitives.ok()) << primitives.status();
  return BuildWhole(*primitives).region;
}

size_t Reductions(const Region& region) {
  size_t count = 0;
  for (const Stage& stage : region.stages) {
    count += stage.kind == Stage::Kind::kReduce;
  }
  return count;
}

// The outputs on drawn data, one after the other.
std::vector<float> Compute(const Region& region) {
  std::vector<std::vector<float>> memory;
  std::mt19937_64 random(7);
  for (const auto* operands : {&region.inputs, &region.outputs}) {
    for (const Operand& operand : *operands) {
      int64_t count = 1;
      for (const Dim& dim : operand.dims) count *= dim.constant();
      std::vector<float>& data = memory.emplace_back(count);
      for (float& x : data) {
        x = static_cast<float>(random() >> 40) * 0x1p-23F - 1;
      }
    }
  }
  std::vector<Buffer> buffers;
  for (std::vector<float>& data : memory) {
    buffers.push_back(
        {data.data(), static_cast<int64_t>(data.size() * sizeof(float))});
  }
  const std::span<const Buffer> all(buffers);
  const Status status = Interpret(region, {}, all.first(region.inputs.size()),
                                  all.subspan(region.inputs.size()));
  EXPECT_TRUE(status.ok()) << status;
  std::vector<float> outputs;
  for (size_t i = region.inputs.size(); i < memory.size(); ++i) {
    outputs.insert(outputs.end(), memory[i].begin(), memory[i].end());
  }
  return outputs;
}

constexpr const char* kSoftmax =
    "graph g(%x: f32[3,50]) -> f32[3,50] {\n"
    "  %y = softmax(%x) {axis = 1}\n  return %y\n}";
constexpr const char* kNorm =
    "graph g(%x: f32[3,50], %s: f32[50], %b: f32[50]) -> f32[3,50] {\n"
    "  %y = layer_norm(%x, %s, %b) {axis = 1}\n  return %y\n}";
// By a factor, which is exact.
constexpr const char* kScaled =
    "graph g(%x: f32[3,64]) -> (f32[3], f32[3,64]) {\n"
    "  %s = reduce(%x) {axes = [1]}\n"
    "  %c = constant() {value = f32[] 0.015625}\n"
    "  %f = broadcast(%c) {shape = [3], axes = []}\n"
    "  %m = mul(%f, %s)\n"
    "  %b = broadcast(%m) {shape = [3,64], axes = [0]}\n"
    "  %d = sub(%x, %b)\n  %q = mul(%d, %d)\n"
    "  %v = reduce(%q) {axes = [1]}\n  return %v, %d\n}";

TEST(OnlineTest, PairsBecomeOneWithTheSameResults) {
  for (const char* text : {kSoftmax, kNorm, kScaled}) {
    const Region region = RegionOf(text);
    const auto online = WithOnlineReductions(region);
    ASSERT_TRUE(online.has_value()) << text;
    EXPECT_TRUE(VerifyRegion(*online).ok()) << VerifyRegion(*online);
    EXPECT_EQ(Reductions(region), 2u);
    EXPECT_EQ(Reductions(*online), 1u);
    const std::vector<float> wanted = Compute(region);
    const std::vector<float> found = Compute(*online);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(found[i], wanted[i], 2e-6) << text << ", element " << i;
    }
  }
}

TEST(OnlineTest, OthersStay) {
  for (const char* text : {
           // One reduction.
           "graph g(%x: f32[3,50], %s: f32[50]) -> f32[3,50] {\n"
           "  %y = rms_norm(%x, %s) {axis = 1}\n  return %y\n}",
           // Not the mean.
           "graph g(%x: f32[3,50]) -> f32[3] {\n"
           "  %s = reduce(%x) {axes = [1]}\n"
           "  %b = broadcast(%s) {shape = [3,50], axes = [0]}\n"
           "  %d = sub(%x, %b)\n  %q = mul(%d, %d)\n"
           "  %v = reduce(%q) {axes = [1]}\n  return %v\n}",
           // The sum is needed too.
           "graph g(%x: f32[3,64]) -> (f32[3], f32[3]) {\n"
           "  %s = reduce(%x) {axes = [1]}\n"
           "  %c = constant() {value = f32[] 0.015625}\n"
           "  %f = broadcast(%c) {shape = [3], axes = []}\n"
           "  %m = mul(%f, %s)\n"
           "  %b = broadcast(%m) {shape = [3,64], axes = [0]}\n"
           "  %d = sub(%x, %b)\n  %q = mul(%d, %d)\n"
           "  %v = reduce(%q) {axes = [1]}\n  return %v, %s\n}",
           // The largest of something else.
           "graph g(%x: f32[3,50], %z: f32[3,50]) -> f32[3] {\n"
           "  %m = reduce(%x) {axes = [1], combiner = max}\n"
           "  %b = broadcast(%m) {shape = [3,50], axes = [0]}\n"
           "  %d = sub(%z, %b)\n  %e = exp(%d)\n"
           "  %v = reduce(%e) {axes = [1]}\n  return %v\n}",
       }) {
    EXPECT_FALSE(WithOnlineReductions(RegionOf(text)).has_value()) << text;
  }
}

}  // namespace
}  // namespace encore::backends
