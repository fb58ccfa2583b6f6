// Upper bounds of data-dependent sizes: what the memory plan reserves for.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/import/onnx/test_models.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::ElementsAre;

constexpr int kString = 8;

// The upper bounds of the data-dependent symbols of the model's graph.
std::vector<int64_t> UpperBounds(const ModelText& text) {
  const auto graph = ImportText(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  std::vector<int64_t> bounds;
  if (!graph.ok()) return bounds;
  for (const Symbol& symbol : graph->symbols()) {
    if (symbol.at_run_time) bounds.push_back(symbol.upper);
  }
  return bounds;
}

Proto Vector(std::string_view name, const std::vector<int64_t>& values) {
  return Proto()
      .Int(1, values.size())
      .Int(2, kInt64)
      .Bytes(8, name)
      .Bytes(9, {reinterpret_cast<const char*>(values.data()),
                 values.size() * sizeof(int64_t)});
}

TEST(UpperBounds, OfElementsThatDataPick) {
  EXPECT_THAT(UpperBounds({.nodes = {Node("NonZero", {"x"}, {"y"})}}),
              ElementsAre(6));
  EXPECT_THAT(UpperBounds({.nodes = {Node("Unique", {"x"}, {"y"})}}),
              ElementsAre(6));
  EXPECT_THAT(UpperBounds({.nodes = {Node("Compress", {"x", "c"}, {"y"},
                                          {IntAttribute("axis", 1)})},
                           .inputs = {TensorInput("x", {"2", "3"}),
                                      TensorInput("c", {"5"}, kBool)}}),
              ElementsAre(3));
  EXPECT_THAT(UpperBounds({.nodes = {Node("TopK", {"x", "k"}, {"y", "at"})},
                           .inputs = {TensorInput("x", {"2", "3"}),
                                      TensorInput("k", {"1"}, kInt64)}}),
              ElementsAre(3));
}

TEST(UpperBounds, OfPartsOfAnAxis) {
  EXPECT_THAT(
      UpperBounds({.nodes = {Node("Slice", {"x", "a", "b", "axes"}, {"y"})},
                   .inputs = {TensorInput("x", {"2", "9"}),
                              TensorInput("a", {"1"}, kInt64),
                              TensorInput("b", {"1"}, kInt64)},
                   .initializers = {Vector("axes", {1})}}),
      ElementsAre(9, 9));
  EXPECT_THAT(UpperBounds({.nodes = {Node("SplitToSequence", {"x", "k"}, {"s"}),
                                     Node("SequenceLength", {"s"}, {"y"})},
                           .inputs = {TensorInput("x", {"7", "2"}),
                                      TensorInput("k", {}, kInt64)}}),
              ElementsAre(7));
}

// As many of each class as the model asks for, at most one for each box.
TEST(UpperBounds, OfBoxesThatStay) {
  const auto bounds = [](int64_t most) {
    return UpperBounds({.nodes = {Node("NonMaxSuppression",
                                       {"boxes", "scores", "most"}, {"y"})},
                        .inputs = {TensorInput("boxes", {"2", "50", "4"}),
                                   TensorInput("scores", {"2", "3", "50"})},
                        .initializers = {Vector("most", {most})}});
  };
  EXPECT_THAT(bounds(4), ElementsAre(2 * 3 * 4));
  EXPECT_THAT(bounds(INT64_MAX), ElementsAre(2 * 3 * 50));
  EXPECT_THAT(bounds(-1), ElementsAre(0));
}

TEST(UpperBounds, OfStrings) {
  EXPECT_THAT(UpperBounds({.nodes = {Node("StringSplit", {"x"}, {"y", "n"},
                                          {IntAttribute("maxsplit", 2)})},
                           .inputs = {TensorInput("x", {"5"}, kString)}}),
              ElementsAre(3));
  EXPECT_THAT(UpperBounds({.nodes = {Node("StringNormalizer", {"x"}, {"y"})},
                           .inputs = {TensorInput("x", {"5"}, kString)}}),
              ElementsAre(5));
}

// No extent is larger than the number of elements, if there are any.
TEST(UpperBounds, OfExtentsThatDataSay) {
  const auto bounds = [](std::vector<std::string> dims) {
    return UpperBounds(
        {.nodes = {Node("Reshape", {"x", "to"}, {"y"})},
         .inputs = {TensorInput("x", dims), TensorInput("to", {"2"}, kInt64)}});
  };
  EXPECT_THAT(bounds({"4", "6"}), ElementsAre(24, 24));
  EXPECT_THAT(bounds({"0", "6"}), ElementsAre(kMaxSize, kMaxSize));
}

// A loop that a condition ends, over the rows of an input: as many trips as
// there are rows, at most.
TEST(UpperBounds, OfTrips) {
  const auto bounds = [](std::vector<Proto> nodes,
                         std::vector<Proto> initializers) {
    nodes.push_back(Node("Loop", {"trips", "go"}, {"y"},
                         {GraphAttribute("body",
                                         {Node("Not", {"go"}, {"on"}),
                                          Node("Identity", {"i"}, {"row"})},
                                         {"on", "row"}, {"i", "c"})}));
    return UpperBounds(
        {.nodes = nodes,
         .inputs = {TensorInput("x", {"N", "3"}), TensorInput("go", {}, kBool)},
         .initializers = initializers});
  };
  EXPECT_THAT(bounds({}, {Vector("trips", {5})}), ElementsAre(5));
  const Proto rows = Node("Shape", {"x"}, {"trips"},
                          {IntAttribute("start", 0), IntAttribute("end", 1)});
  const auto open = bounds({rows}, {});
  ASSERT_EQ(open.size(), 1u);
  EXPECT_LT(open[0], kMaxSize);
}

}  // namespace
}  // namespace encore::onnx
