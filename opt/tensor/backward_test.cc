// Programs that were made worse step by step come back.
//
// Good programs are what the cases of opt/rules/testdata end in, and blocks of
// models; both as the pass leaves them. They are made worse by at least six
// steps each (testing/walk_backward.h says what a step backwards is), none of
// which lowers the cost. What comes of them computes the same, by running error
// bounds, and the pass has to make it as cheap as the good one again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/text_cases.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/text/printer.h"
#include "encore/opt/tensor/check/choices.h"
#include "encore/opt/tensor/check/compare_sides.h"
#include "encore/opt/tensor/costs.h"
#include "encore/opt/tensor/improve.h"
#include "encore/opt/tensor/rule_text.h"
#include "encore/opt/tensor/testing/model_blocks.h"
#include "encore/opt/tensor/testing/walk_backward.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

constexpr size_t kLeastSteps = 6, kMostSteps = 10;
constexpr int kMostNodes = 60;
// Of the good program's cost.
constexpr double kMostGap = 0.01;
// A good program from which no rule leads far enough is not asked again.
constexpr int kMostShortWalks = 3;

double CostOf(const Graph& graph) {
  const auto cost = RooflineCosts().GraphSeconds(graph);
  EXPECT_TRUE(cost.has_value());
  return cost.value_or(0);
}

Graph ImprovedOnce(const Graph& graph) {
  ImproveOptions options;
  options.level = RewriteLevel::kReassociate;
  ImproveReport report;
  options.report = &report;
  auto improved = Improve(graph, options);
  EXPECT_TRUE(improved.ok()) << improved.status();
  EXPECT_TRUE(report.fault.ok()) << report.fault;
  if (!improved.ok() || !improved->has_value()) return graph.Clone();
  return **std::move(improved);
}

struct Good {
  std::string name;
  Graph graph;
};

std::vector<Good> GoodPrograms() {
  std::vector<Good> programs;
  const auto add = [&](std::string name, const Graph& graph) {
    programs.push_back({std::move(name), ImprovedOnce(graph)});
  };
  for (const std::string_view text : ModelBlocks()) {
    const Graph graph = ParsedGraph(text);
    add(graph.name(), graph);
  }
  for (const TextCase& text_case : ReadTextCases("opt/rules/testdata")) {
    const auto graph = ParseGraph(text_case.expected);
    EXPECT_TRUE(graph.ok()) << text_case.path << graph.status();
    if (graph.ok()) add(text_case.name, *graph);
  }
  return programs;
}

// Empty where both give the same, within both sides' running error bounds.
std::string Difference(const Graph& a, const Graph& b, uint64_t seed) {
  Choices choices(seed);
  for (int i = 0; i < 8; ++i) {
    const auto sides =
        CompareSides(a, b, RuleTag::kReassociating,
                     DrawArguments(a, RuleTag::kReassociating, &choices));
    if (!sides.ok()) return sides.status().ToString();
    if (!sides->difference.empty()) return sides->difference;
    if (sides->compared) return "";
  }
  return "nothing was compared";
}

// How many programs: ENCORE_BACKWARD_PROGRAMS says it, for longer runs.
int WantedPrograms() {
  const char* const text = std::getenv("ENCORE_BACKWARD_PROGRAMS");
  return text == nullptr ? 200 : std::atoi(text);
}

// What came of all programs.
struct Tally {
  int programs = 0, back = 0;
  double gap = 0;  // the sum of shares of the good programs' costs
  std::set<std::string> rules;
  std::string not_back;

  void Add(const Good& good, const BackwardWalk& walk, double gap_here) {
    ++programs;
    gap += std::max(gap_here, 0.0);
    rules.insert(walk.rules.begin(), walk.rules.end());
    if (gap_here <= kMostGap) {
      ++back;
      return;
    }
    StrAppend(&not_back, good.name, " by ", StrJoin(walk.rules, ", "),
              ": costs ", 1 + gap_here, " of the good one\n",
              Print(walk.graph));
  }
};

void CheckProgram(const Good& good, const BackwardWalk& walk, uint64_t seed,
                  Tally* tally) {
  SCOPED_TRACE(StrCat(good.name, ", seed ", seed, "\n", Print(walk.graph)));
  const std::string wrong = Difference(good.graph, walk.graph, seed);
  ASSERT_EQ(wrong, "") << "by " << StrJoin(walk.rules, ", ");
  const Graph again = ImprovedOnce(walk.graph);
  EXPECT_EQ(Difference(good.graph, again, seed), "") << Print(again);
  tally->Add(good, walk, CostOf(again) / CostOf(good.graph) - 1);
}

TEST(BackwardTest, ProgramsComeBack) {
  const int wanted = WantedPrograms();
  const auto rules = BackwardRules(RewriteLevel::kReassociate);
  const std::vector<Good> goods = GoodPrograms();
  std::vector<int> short_walks(goods.size());
  Tally tally;
  for (uint64_t seed = 0; tally.programs < wanted; ++seed) {
    const int before = tally.programs;
    for (size_t i = 0; i < goods.size() && tally.programs < wanted; ++i) {
      if (short_walks[i] >= kMostShortWalks) continue;
      const size_t steps = kLeastSteps + seed % (kMostSteps - kLeastSteps + 1);
      const BackwardWalk walk = WalkBackward(
          goods[i].graph, rules, RooflineCosts(), steps, kMostNodes, seed);
      if (walk.rules.size() < kLeastSteps) {
        ++short_walks[i];
        continue;
      }
      CheckProgram(goods[i], walk, seed, &tally);
      if (HasFatalFailure()) return;
    }
    ASSERT_GT(tally.programs, before) << "no program is left";
  }
  std::cout << tally.back << " of " << tally.programs << " came back, by "
            << tally.rules.size() << " rules; the mean gap is "
            << 100 * tally.gap / wanted << " %\n"
            << tally.not_back;
  EXPECT_GE(tally.rules.size(), 60);
  EXPECT_EQ(tally.back, tally.programs) << tally.not_back;
  EXPECT_LE(tally.gap / wanted, kMostGap);
}

}  // namespace
}  // namespace encore::opt
