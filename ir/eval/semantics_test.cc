// Inference, evaluation, decompositions and simplification against each other,
// on every op in every dtype of its row and on random graphs.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/transform/decompose.h"
#include "encore/ir/transform/rewrite.h"
#include "encore/ir/types/float_formats.h"
#include "encore/ir/types/literal_compare.h"

namespace encore {
namespace {

// Half of a unit in the last place of 1, some times.
double RelativeTolerance(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-9;
    case DType::kF32:
      return 3e-5;
    case DType::kF16:
      return 4e-3;
    case DType::kBF16:
      return 3e-2;
    default:
      return IsFloat(dtype) ? 2 * Epsilon(dtype) : 0.5;
  }
}

void ExpectSameResults(const Graph& a, const Graph& b, uint64_t seed) {
  const std::vector<Literal> arguments = RandomArguments(a, seed);
  const auto expected = Evaluate(a, arguments);
  const auto actual = Evaluate(b, arguments);
  ASSERT_TRUE(expected.ok()) << a.name() << ": " << expected.status();
  ASSERT_TRUE(actual.ok()) << a.name() << ": " << actual.status();
  ASSERT_EQ(expected->size(), actual->size());
  for (size_t i = 0; i < expected->size(); ++i) {
    const double tolerance = RelativeTolerance((*expected)[i].dtype());
    const LiteralDifference difference =
        CompareLiterals((*actual)[i], (*expected)[i], {tolerance, tolerance});
    EXPECT_TRUE(difference.ok)
        << a.name() << ", output " << i << " " << difference.text;
  }
}

class OpTest : public testing::TestWithParam<OpInfo> {};

// The evaluator checks each result against the type that inference gave the
// graph, with the call's values for the symbols.
TEST_P(OpTest, EvaluatesToTheInferredTypes) {
  for (const DType dtype : GetParam().dtypes) {
    for (uint64_t seed = 0; seed < 24; ++seed) {
      const auto graph =
          RandomNode(GetParam().op, dtype, seed, /*symbolic=*/seed % 2);
      if (!graph) continue;
      const auto results = Evaluate(*graph, RandomArguments(*graph, seed));
      ASSERT_TRUE(results.ok()) << graph->name() << ": " << results.status();
    }
  }
}

TEST_P(OpTest, DecomposesToTheSameValues) {
  if (GetParam().level != OpLevel::kComposite) return;
  for (const DType dtype : GetParam().dtypes) {
    // Without NaN the product saturates before the bias is added.
    const bool saturates = IsFloat(dtype) && !FormatOf(dtype).has_nan();
    if (GetParam().op == Op::kLinear && saturates) continue;
    for (uint64_t seed = 0; seed < 24; ++seed) {
      const auto graph =
          RandomNode(GetParam().op, dtype, seed, /*symbolic=*/seed % 2);
      ASSERT_TRUE(graph.has_value());
      const auto primitives = DecomposeAll(*graph);
      ASSERT_TRUE(primitives.ok()) << primitives.status();
      for (const NodeId node : Nodes(*primitives)) {
        EXPECT_EQ(primitives->info(node).level, OpLevel::kPrimitive);
      }
      ExpectSameResults(*graph, *primitives, seed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, OpTest,
                         testing::ValuesIn(AllOps().begin(), AllOps().end()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

class RandomGraphTest : public testing::TestWithParam<int> {};

TEST_P(RandomGraphTest, SimplifyKeepsTheValues) {
  for (uint64_t i = 0; i < 100; ++i) {
    const uint64_t seed = GetParam() * 1000 + i;
    RandomGraphOptions options;
    options.symbolic = i % 2;
    const Graph graph = RandomGraph(seed, options);
    const auto simplified = Simplify(graph, {.folder = FoldByEvaluation});
    ASSERT_TRUE(simplified.ok()) << graph.name() << simplified.status();
    EXPECT_LE(simplified->node_count(), graph.node_count());
    ExpectSameResults(graph, *simplified, seed);
  }
}

TEST_P(RandomGraphTest, TheSeedDecides) {
  const Graph a = RandomGraph(GetParam()), b = RandomGraph(GetParam());
  ASSERT_EQ(a.node_count(), b.node_count());
  for (const NodeId node : Nodes(a)) {
    EXPECT_EQ(a.op(node), b.op(node));
    EXPECT_EQ(a.attributes(node), b.attributes(node));
  }
  EXPECT_EQ(RandomArguments(a, 1), RandomArguments(b, 1));
}

TEST(RandomGraphs, HoldEveryOpEveryDTypeAndOddShapes) {
  std::set<Op> ops;
  std::set<DType> dtypes;
  std::set<int64_t> extents;
  std::set<int> ranks;
  int symbolic = 0, bodies = 0, several_results = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph =
        RandomGraph(seed, {.nodes = 20, .symbolic = seed % 2 == 1});
    std::vector<const Graph*> left = {&graph};
    while (!left.empty()) {
      const Graph& g = *left.back();
      left.pop_back();
      for (const NodeId node : Nodes(g)) {
        ops.insert(g.op(node));
        several_results += g.result_count(node) > 1;
        for (const Graph& body : g.bodies(node)) {
          left.push_back(&body);
          ++bodies;
        }
      }
      for (const Graph::Argument& argument : g.arguments()) {
        const TensorType& type = g.type(argument.value);
        dtypes.insert(type.dtype);
        ranks.insert(type.shape.rank());
        for (const Dim& dim : type.shape.dims()) {
          if (dim.is_constant()) extents.insert(dim.constant());
          symbolic += !dim.is_constant();
        }
      }
    }
  }
  for (const OpInfo& info : AllOps()) {
    if (info.op == Op::kCustom) continue;
    EXPECT_TRUE(ops.contains(info.op)) << info.name;
    for (const DType dtype : info.dtypes) {
      EXPECT_TRUE(dtypes.contains(dtype)) << Name(dtype);
    }
  }
  for (const int64_t extent : {0, 1, 2, 3, 5, 7, 11}) {
    EXPECT_TRUE(extents.contains(extent)) << extent;
  }
  for (const int rank : {0, 1, 2, 3, 4}) EXPECT_TRUE(ranks.contains(rank));
  EXPECT_GT(symbolic, 100);
  EXPECT_GT(bodies, 100);
  EXPECT_GT(several_results, 100);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphTest, testing::Range(0, 10));

}  // namespace
}  // namespace encore
