#include "encore/opt/tensor/costs.h"

#include "encore/ir/graph/graph.h"
#include "encore/ir/testing/parsed_graph.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

TEST(WeightBytesTest, CountsWhatIsReadOfWeightsOnce) {
  const Graph graph = ParsedGraph(R"(
    graph twice(%x: f32[4,8], %w: param f32[8]) -> (f32[4,8], f32[4,8]) {
      %b = broadcast(%w) {shape = [4, 8], axes = [1]}
      %y = mul(%x, %b)
      %e = exp(%w)
      %c = broadcast(%e) {shape = [4, 8], axes = [1]}
      %d = add(%y, %c)
      %z = add(%d, %b)
      return %y, %z
    })");
  // %w and e^w, where they are, not repeated; each once.
  EXPECT_EQ(WeightBytes(graph), 2 * 8 * 4);
  // What is paid for does not count; what is made of it does.
  EXPECT_EQ(WeightBytes(graph, {false, true}), 8 * 4);
}

TEST(WeightBytesTest, IndicesAreNotRead) {
  const Graph graph = ParsedGraph(R"(
    graph shifted(%x: f32[64]) -> f32[64] {
      %i = iota() {dtype = f32, shape = [64], axis = 0}
      %y = add(%x, %i)
      return %y
    })");
  EXPECT_EQ(WeightBytes(graph), 0);
}

TEST(WeightBytesTest, NumbersAreNoWeights) {
  const Graph graph = ParsedGraph(R"(
    graph halved(%x: f32[64]) -> f32[64] {
      %c = constant() {value = f32[] 0.5}
      %h = broadcast(%c) {shape = [64], axes = []}
      %y = mul(%x, %h)
      return %y
    })");
  EXPECT_EQ(WeightBytes(graph), 0);
}

TEST(WeightBytesTest, RepeatedWeightsThatAreAnOutputAreWritten) {
  const Graph graph = ParsedGraph(R"(
    graph table(%x: f32[4], %w: param f32[]) -> (f32[4], f32[64]) {
      %b = broadcast(%w) {shape = [64], axes = []}
      return %x, %b
    })");
  EXPECT_EQ(WeightBytes(graph), 64 * 4);
}

}  // namespace
}  // namespace encore::opt
