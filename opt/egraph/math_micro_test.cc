// The math microbenchmark gives the same numbers of e-nodes and classes in
// every engine that runs its iterations exactly.
#include <utility>
#include <vector>

#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/egraph/testing/math_language.h"
#include "gtest/gtest.h"

namespace encore::egraph {
namespace {

constexpr std::pair<size_t, size_t> kCounts[] = {
    {35, 35},     {69, 50},       {118, 71},      {208, 116},
    {389, 197},   {784, 361},     {1576, 666},    {3160, 1347},
    {8113, 3576}, {28303, 12445}, {136446, 58464}};

void RunAndCount(EGraph::Options options) {
  EGraph graph(MathLanguage(), options);
  const Syntax syntax = MathSyntax(graph.language());
  for (const std::string_view term : MathMicroTerms()) {
    ASSERT_TRUE(AddTerm(&graph, term, syntax).ok());
  }
  RuleBook book;
  const std::vector<RuleId> rules =
      AddRules(&graph, syntax, MathMicroRules(), &book);
  Runner runner(&graph, &book);
  for (size_t i = 0; i < std::size(kCounts); ++i) {
    if (i > 0) runner.Step(rules);
    EXPECT_EQ(graph.num_enodes(), kCounts[i].first) << "iteration " << i;
    EXPECT_EQ(graph.num_classes(), kCounts[i].second) << "iteration " << i;
  }
}

TEST(MathMicroTest, CountsAreExact) { RunAndCount({}); }

TEST(MathMicroTest, CountsAreExactWithExplanations) {
  RunAndCount({.explanations = true});
}

}  // namespace
}  // namespace encore::egraph
