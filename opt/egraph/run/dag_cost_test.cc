#include "encore/opt/egraph/run/dag_cost.h"

#include <limits>
#include <map>
#include <string>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/opt/egraph/match/pattern.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/egraph/testing/math_language.h"
#include "gtest/gtest.h"

namespace encore::egraph {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class DagCostTest : public testing::Test {
 protected:
  OpId Op(std::string name, size_t arity, double cost) {
    const StatusOr<OpId> op =
        graph_.language().AddOp({.name = std::move(name),
                                 .args = std::vector<SortId>(arity, sort_),
                                 .result = sort_,
                                 .cost = cost});
    ENCORE_CHECK_OK(op.status());
    return *op;
  }
  ClassId Term(std::string_view text) { return *AddTerm(&graph_, text); }
  void Same(std::string_view a, std::string_view b) {
    graph_.Union(Term(a), Term(b));
    graph_.Rebuild();
  }
  StatusOr<DagTerms> Extract(std::vector<ClassId> roots) {
    graph_.Rebuild();
    return DagTerms::Extract(graph_, roots);
  }

  EGraph graph_;
  SortId sort_ = *graph_.language().AddClassSort("S");
};

TEST_F(DagCostTest, SharedTermsArePaidForOnce) {
  Op("x", 0, 1), Op("dear", 1, 10), Op("cheap", 1, 6), Op("pair", 2, 1);
  Same("(dear x)", "(cheap x)");
  Op("f", 1, 1), Op("g", 1, 1);
  const ClassId root = Term("(pair (f (dear x)) (g (dear x)))");
  const StatusOr<DagTerms> terms = Extract({root});
  ASSERT_TRUE(terms.ok());
  EXPECT_EQ(terms->cost(), 1 + 1 + 1 + 6 + 1);
  EXPECT_TRUE(terms->optimal());
  EXPECT_EQ(terms->lower_bound(), terms->cost());
  EXPECT_EQ(*terms->Text(root), "(pair (f (cheap (x))) (g (cheap (x))))");
  EXPECT_EQ(*terms->Lets(root), "(let $1 (cheap (x)))\n(pair (f $1) (g $1))");
  EXPECT_EQ(TreeCosts(graph_).cost(root), 3 + 2 * 7);
}

TEST_F(DagCostTest, SeveralResultsArePaidForOnce) {
  Op("x", 0, 1), Op("y", 0, 1), Op("div", 2, 4), Op("mod", 2, 4);
  const auto both = *graph_.language().AddMultiOp("divmod", {sort_, sort_},
                                                  {sort_, sort_}, 5);
  const ClassId x = Term("x"), y = Term("y");
  const ClassId tuple = graph_.Add(both.op, {x.value(), y.value()});
  const ClassId div = Term("(div x y)"), mod = Term("(mod x y)");
  graph_.Union(graph_.Add(both.projections[0], {tuple.value()}), div);
  graph_.Union(graph_.Add(both.projections[1], {tuple.value()}), mod);
  EXPECT_EQ(Extract({div})->cost(), 2 + 4);
  EXPECT_EQ(Extract({mod})->cost(), 2 + 4);
  const StatusOr<DagTerms> terms = Extract({div, mod});
  ASSERT_TRUE(terms.ok());
  EXPECT_EQ(terms->cost(), 2 + 5);
  EXPECT_TRUE(terms->optimal());
  EXPECT_EQ(*terms->Text(div), "(divmod.0 (divmod (x) (y)))");
  EXPECT_EQ(*terms->Text(mod), "(divmod.1 (divmod (x) (y)))");
  ASSERT_TRUE(terms->best(tuple).has_value());
  EXPECT_EQ(graph_.op(*terms->best(tuple)), both.op);
}

TEST_F(DagCostTest, NegativeInfiniteAndCyclic) {
  Op("x", 0, 3), Op("gain", 1, -2), Op("no", 0, kInfinity), Op("id", 1, -100);
  Same("x", "(id x)");  // never: it needs itself
  Same("x", "no");
  Op("loss", 1, 1);
  Same("(loss x)", "(gain x)");
  const ClassId root = Term("(loss x)");
  const StatusOr<DagTerms> terms = Extract({root});
  ASSERT_TRUE(terms.ok());
  EXPECT_EQ(terms->cost(), 1);
  EXPECT_TRUE(terms->optimal());
  EXPECT_EQ(*terms->Text(root), "(gain (x))");
}

TEST_F(DagCostTest, WithoutATermThereIsAnError) {
  Op("no", 0, kInfinity), Op("f", 1, 1);
  const StatusOr<DagTerms> terms = Extract({Term("(f no)")});
  EXPECT_EQ(terms.status().code(), StatusCode::kNotFound);
}

TEST_F(DagCostTest, TextsAreBounded) {
  Op("x", 0, 1), Op("pair", 2, 1);
  ClassId c = Term("x");
  const OpId pair = *graph_.language().FindOp("pair");
  for (int i = 0; i < 64; ++i) c = graph_.Add(pair, {c.value(), c.value()});
  const StatusOr<DagTerms> terms = Extract({c});
  ASSERT_TRUE(terms.ok());
  EXPECT_EQ(terms->cost(), 65);
  EXPECT_EQ(terms->nodes().size(), 65);
  EXPECT_EQ(terms->Text(c, 1000).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(terms->Lets(c, 100).status().code(),
            StatusCode::kResourceExhausted);
  const std::string lets = *terms->Lets(c);
  EXPECT_TRUE(lets.starts_with("(let $1 (pair (x) (x)))\n"));
  EXPECT_TRUE(lets.ends_with("\n(pair $63 $63)"));
}

// The chosen nodes are a program: each class at most once, arguments first, the
// roots among them, its cost the sum.
TEST(DagMathTest, ChosenNodesAreAProgram) {
  FoldingMath math;
  std::vector<ClassId> roots;
  for (const std::string_view term : MathMicroTerms()) {
    roots.push_back(*AddTerm(&math.graph, term, math.syntax));
  }
  RuleBook book;
  const std::vector<RuleId> rules =
      AddRules(&math.graph, math.syntax, MathMicroRules(), &book);
  Runner(&math.graph, &book, {.max_iterations = 4}).Run(rules);
  opt::extract::Options options;
  options.work = 100'000;
  const StatusOr<DagTerms> terms =
      DagTerms::Extract(math.graph, roots, options);
  ASSERT_TRUE(terms.ok());
  std::map<ClassId, NodeId> done;
  double cost = 0;
  for (const NodeId node : terms->nodes()) {
    cost += DeclaredCost(math.graph, node);
    const std::vector<SortId>& sorts =
        math.graph.language().op(math.graph.op(node)).args;
    for (size_t i = 0; i < sorts.size(); ++i) {
      if (!math.graph.language().has_terms(sorts[i])) continue;
      EXPECT_TRUE(
          done.contains(math.graph.Find(ClassId(math.graph.args(node)[i]))));
    }
    EXPECT_TRUE(done.emplace(math.graph.class_of(node), node).second);
  }
  EXPECT_EQ(cost, terms->cost());
  for (const ClassId root : roots) {
    EXPECT_TRUE(done.contains(math.graph.Find(root)));
  }
  double trees = 0;
  for (const ClassId root : roots) trees += TreeCosts(math.graph).cost(root);
  EXPECT_LE(cost, trees);
}

}  // namespace
}  // namespace encore::egraph
