// Dims that one node needs to be equal, and another one after it.
#include "encore/ir/import/onnx/shapes/unify_dims.h"

#include <array>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/import/onnx/test_models.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

// The second of two nodes that need the same dims to be equal takes a reshape.
TEST(UnifyDims, EqualDimsAreAssertedOnce) {
  ModelText text;
  text.inputs = {TensorInput("x", {"4"}), TensorInput("y", {"4"})};
  text.nodes = {
      Node("NonZero", {"x"}, {"at_x"}), Node("NonZero", {"y"}, {"at_y"}),
      Node("Concat", {"at_x", "at_y"}, {"both"}, {IntAttribute("axis", 0)}),
      Node("Add", {"at_x", "at_y"}, {"sum"}),
      Node("Add", {"both", "sum"}, {"z"})};
  text.output = "z";
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const NodeId node : encore::Nodes(*graph)) {
    EXPECT_NE(graph->op(node), Op::kAssertion);
    EXPECT_NE(graph->op(node), Op::kGather);
  }
  const auto run = [&](std::array<float, 4> x, std::array<float, 4> y) {
    return Evaluate(*graph,
                    {{Literal::Vector<float>(x), Literal::Vector<float>(y)}});
  };
  const auto results = run({1, 1, 0, 0}, {0, 0, 1, 1});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].AsInt(0), 2);
  EXPECT_FALSE(run({1, 1, 1, 0}, {0, 0, 1, 1}).ok());
}

}  // namespace
}  // namespace encore::onnx
