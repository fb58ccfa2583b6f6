// The user's tour of README.md, compiled and run; the page has the lines
// between the marks, word for word.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/opt/egraph/core/analysis.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/match/pattern.h"
#include "encore/opt/egraph/run/dag_cost.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/egraph/run/schedulers.h"
#include "gtest/gtest.h"

using namespace encore;          // NOLINT(build/namespaces)
using namespace encore::egraph;  // NOLINT(build/namespaces)

// TOUR
// A fact per class: the number of bits its values need, at most 64.
class Bits : public FactAnalysis<int> {
 public:
  std::unique_ptr<Analysis> Clone() const override {
    return std::make_unique<Bits>(*this);
  }

 protected:
  int Of(const EGraph& graph, NodeId node) override {
    const std::string& op = graph.language().op(graph.op(node)).name;
    if (op != "&") return op == "Byte" ? 8 : 64;
    return std::min(fact(ClassId(graph.args(node)[0])),
                    fact(ClassId(graph.args(node)[1])));
  }
  bool Join(EGraph*, int* into, const int& from) override {
    return from < std::exchange(*into, std::min(*into, from));
  }
};

std::string Simplify(std::string_view term) {
  Language ops;
  const SortId word = *ops.AddClassSort("Word");
  *ops.AddOp({.name = "&", .args = {word, word}, .result = word});
  *ops.AddOp({.name = "|", .args = {word, word}, .result = word});
  const Syntax syntax = {.number = *ops.AddOp({"Num", {kI64Sort}, word}),
                         .symbol = *ops.AddOp({"Byte", {kStringSort}, word})};
  const auto narrow = [](const EGraph& g, LiteralPool&, auto args, Value*) {
    return g.analysis<Bits>(0).fact(ClassId(args[0])) <= 8;
  };
  ops.AddPrimitive({"narrow", {word}, kUnitSort, narrow});  // a condition
  EGraph graph(std::move(ops));
  graph.AddAnalysis(std::make_unique<Bits>());
  const ClassId root = *AddTerm(&graph, term, syntax);
  RuleBook book;
  std::vector<RuleId> rules;
  for (const char* text :
       {"(& ?a ?b) => (& ?b ?a)", "(& ?a ?a) => ?a", "(| ?a ?a) => ?a",
        "(& ?a 255) => ?a if narrow ?a"}) {
    rules.push_back(book.Add(*ParseRule(&graph.language(), "", text, syntax)));
  }
  Runner runner(&graph, &book, {.max_nodes = 10'000, .max_seconds = 1});
  BackoffScheduler scheduler;
  runner.Run(rules, &scheduler);
  return *DagTerms::Extract(graph, {&root, 1})->Text(root);
}
// END

TEST(ExampleTest, Runs) {
  EXPECT_EQ(Simplify("(| (& 255 x) (& x x))"), "(Byte \"x\")");
  EXPECT_EQ(Simplify("(& 255 (| x y))"),
            "(& (Num 255) (| (Byte \"x\") (Byte \"y\")))");
}

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ExampleTest, IsWhatTheReadmeShows) {
  const std::string source = ReadFile("opt/egraph/example_test.cc");
  const size_t begin = source.find("// TOUR\n") + 8;
  const std::string tour =
      source.substr(begin, source.find("// END\n") - begin);
  EXPECT_NE(ReadFile("opt/egraph/README.md").find("```cpp\n" + tour + "```"),
            std::string::npos)
      << "copy the tour into opt/egraph/README.md";
}
