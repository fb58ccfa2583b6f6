#include "encore/ir/graph/graph.h"

#include <string>

#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

const TensorType kType{DType::kF32, Shape(), ValueKind::kTensor};

TEST(Graph, RefusesNamesInUse) {
  Graph graph;
  const StatusOr<ValueId> x = graph.AddInput("x", kType);
  ASSERT_TRUE(x.ok());
  EXPECT_FALSE(graph.AddInput("x", kType).ok());
  EXPECT_FALSE(graph.AddParameter("x", kType).ok());
  EXPECT_TRUE(graph.AddOutput("x", *x).ok());
  EXPECT_FALSE(graph.AddOutput("x", *x).ok());
  EXPECT_TRUE(graph.AddSymbol({"x", 1, 2}).ok());
  EXPECT_FALSE(graph.AddSymbol({"x", 1, 2}).ok());
  EXPECT_FALSE(graph.Clone().AddInput("x", kType).ok());
  EXPECT_FALSE(graph.Clone().AddOutput("x", *x).ok());
  EXPECT_FALSE(graph.Clone().AddSymbol({"x", 1, 2}).ok());
  // Symbols are shared with bodies, arguments and outputs are not.
  Graph body = graph.NewBody("body");
  EXPECT_TRUE(body.AddInput("x", kType).ok());
  EXPECT_FALSE(body.AddSymbol({"x", 1, 2}).ok());
  EXPECT_EQ(body.FindSymbol("x"), 0u);
}

// An argument that was refused leaves its name free.
TEST(Graph, RefusedTypesTakeNoName) {
  Graph graph;
  const TensorType impossible{DType::kF32, Shape({-1}), ValueKind::kTensor};
  EXPECT_FALSE(graph.AddInput("x", impossible).ok());
  EXPECT_TRUE(graph.AddInput("x", kType).ok());
}

// Elements that can be counted may have bytes that cannot.
TEST(Graph, RefusesBytesBeyondCounting) {
  Graph graph;
  const int64_t count = INT64_MAX / 4;
  EXPECT_TRUE(graph.AddInput("x", {DType::kF32, Shape({count})}).ok());
  EXPECT_FALSE(graph.AddInput("y", {DType::kF32, Shape({count + 1})}).ok());
  EXPECT_TRUE(graph.AddInput("z", {DType::kI4, Shape({INT64_MAX})}).ok());
  const auto small = graph.AddInput("w", {DType::kI8, Shape({count + 1})});
  ASSERT_TRUE(small.ok());
  const ValueId operands[] = {*small};
  EXPECT_FALSE(graph.AddNode(Op::kCast, operands, CastAttrs{DType::kF32}).ok());
}

// Looking at every earlier name for each would run into the test's time limit.
TEST(Graph, ManyNamesTakeTimeInProportion) {
  constexpr uint32_t kNames = 200'000;
  Graph graph;
  for (uint32_t i = 0; i < kNames; ++i) {
    const std::string name = StrCat("name_of_some_length_", i);
    const StatusOr<ValueId> x = graph.AddInput(name, kType);
    ASSERT_TRUE(x.ok());
    ASSERT_TRUE(graph.AddOutput(name, *x).ok());
    ASSERT_TRUE(graph.AddSymbol({name, 1, 2}).ok());
    ASSERT_EQ(graph.FindSymbol(name), i);
  }
}

}  // namespace
}  // namespace encore
