// Graphs improved with what was kept of them are what they are without.
#include "encore/opt/tensor/kept/kept_choices.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/graph/verifier.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/opt/tensor/costs.h"
#include "encore/opt/tensor/deadline.h"
#include "encore/opt/tensor/improve.h"
#include "encore/opt/tensor/kept/choice_store.h"
#include "encore/opt/tensor/testing/random_costs.h"
#include "encore/opt/tensor/testing/rewritten_graphs.h"
#include "encore/opt/tensor/user_rules.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

class MapOfChoices : public ChoiceStore {
 public:
  std::optional<std::vector<std::byte>> Get(std::string_view key) override {
    const auto it = rows.find(std::string(key));
    if (it == rows.end()) return std::nullopt;
    return it->second;
  }
  void Put(std::string_view key, std::span<const std::byte> bytes) override {
    ++puts;
    rows[std::string(key)].assign(bytes.begin(), bytes.end());
  }

  std::map<std::string, std::vector<std::byte>> rows;
  int puts = 0;
};

// Of nodes those of one seed, of graphs those of another: machines that choose
// from the same choices.
class MachineCosts : public RandomCosts {
 public:
  MachineCosts(uint64_t nodes, uint64_t machine)
      : RandomCosts(nodes),
        nodes_(nodes),
        machine_number_(machine),
        machine_(machine) {}
  std::optional<std::string> NodeIdentity() const override {
    return StrCat("random ", nodes_);
  }
  std::optional<GraphCost> CostOf(const Graph& graph) const override {
    auto cost = machine_.CostOf(graph);
    // On some of them whatever is faster needs more memory, and is not taken.
    if (cost && machine_number_ % 2 == 1)
      cost->live_bytes = 1e12 / cost->seconds;
    return cost;
  }

 private:
  const uint64_t nodes_, machine_number_;
  const RandomCosts machine_;
};

ImproveOptions Reassociating() {
  ImproveOptions options;
  options.level = RewriteLevel::kReassociate;
  return options;
}

struct Outcome {
  std::string text;  // empty: the graph stays
  ImproveReport report;
};

Outcome Improved(const Graph& graph, const Costs& costs, ChoiceStore* kept,
                 ImproveOptions options = Reassociating()) {
  Outcome outcome;
  options.costs = &costs;
  options.kept = kept;
  options.report = &outcome.report;
  const auto improved = Improve(graph, options);
  EXPECT_TRUE(improved.ok()) << improved.status();
  if (improved.ok() && improved->has_value()) {
    EXPECT_TRUE(Verify(**improved).ok());
    outcome.text = Print(**improved);
  }
  return outcome;
}

// All but what depends on the clock and on what was kept.
void ExpectSame(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.report.nodes, b.report.nodes);
  EXPECT_EQ(a.report.enodes, b.report.enodes);
  EXPECT_EQ(a.report.classes, b.report.classes);
  EXPECT_EQ(a.report.iterations, b.report.iterations);
  EXPECT_EQ(a.report.stop, b.report.stop);
  EXPECT_EQ(a.report.stops, b.report.stops);
  EXPECT_EQ(a.report.cost_after, b.report.cost_after);
  EXPECT_EQ(a.report.own_choice, b.report.own_choice);
  EXPECT_EQ(a.report.best_choice, b.report.best_choice);
  EXPECT_EQ(a.report.bound, b.report.bound);
}

Graph Drawn(uint64_t seed) {
  RandomGraphOptions options = MovementAndProducts(24, seed % 2 == 1);
  std::erase(options.ops, Op::kIf);
  return RandomGraph(seed, options);
}

TEST(KeptChoices, WhatIsFoundIsWhatIsMade) {
  int changed = 0, recalled = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = Drawn(seed);
    const MachineCosts costs(seed, seed + 1);
    const Outcome without = Improved(graph, costs, nullptr);
    MapOfChoices kept;
    const Outcome first = Improved(graph, costs, &kept);
    const int puts = kept.puts;
    const Outcome second = Improved(graph, costs, &kept);
    ExpectSame(without, first);
    ExpectSame(without, second);
    EXPECT_EQ(kept.puts, puts) << seed;
    EXPECT_EQ(first.report.recalled, 0);
    changed += second.report.recalled > 0 && !second.text.empty();
    recalled += second.report.recalled;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GE(changed, 15);
  EXPECT_GE(recalled, 40);
}

// A machine that turns down what another one takes asks for another choice;
// what it finds is kept beside the first one's.
TEST(KeptChoices, OtherMachinesChooseAnewFromWhatWasFound) {
  int recalled = 0, added = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Graph graph = Drawn(seed);
    MapOfChoices kept;
    for (uint64_t machine = 0; machine < 6; ++machine) {
      const MachineCosts costs(seed, machine % 3);
      const Outcome without = Improved(graph, costs, nullptr);
      const int puts = kept.puts;
      const Outcome with = Improved(graph, costs, &kept);
      ExpectSame(without, with);
      if (machine == 0) continue;
      recalled += with.report.recalled;
      added += kept.puts - puts;
      if (machine >= 3) EXPECT_EQ(kept.puts, puts);
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GE(recalled, 100);
  EXPECT_GE(added, 1);
}

// Layers of steps that undo each other.
Graph Layers(int layers, std::string_view name = "x") {
  std::string text = StrCat("graph g(%", name, "0: f32[8,64]");
  for (int i = 0; i < layers; ++i) {
    StrAppend(&text, ", %w", i, ": param f32[64,64]");
  }
  text += ") -> f32[8,64] {\n";
  for (int i = 0; i < layers; ++i) {
    StrAppend(&text, "  %p", i, " = dot_general(%", name, i, ", %w", i,
              ") {contract = [1]x[0]} @\"", name, " product ", i, "\"\n");
    std::string last = StrCat("p", i);
    for (int j = 0; j < 20; ++j) {
      StrAppend(&text, "  %s", i, "_", j, " = ", j % 2 == 0 ? "neg" : "tanh",
                "(%", last, ") @\"", name, " step ", i, "\"\n");
      last = StrCat("s", i, "_", j);
    }
    StrAppend(&text, "  %", name, i + 1, " = add(%", last, ", %", name, i,
              ")\n");
  }
  StrAppend(&text, "  return %", name, layers, " as y\n}\n");
  return ParsedGraph(text);
}

ImproveOptions InParts() {
  ImproveOptions options = Reassociating();
  options.limits.parts = {.whole_nodes = 0,
                          .most_whole_nodes = 0,
                          .divide = {.least = 18, .radius = 12, .most = 80}};
  return options;
}

// With its own origins, whatever the others were called.
TEST(KeptChoices, AnotherModelWithTheSameLayersFindsThem) {
  const RooflineCosts costs;
  MapOfChoices kept;
  const Outcome first = Improved(Layers(6), costs, &kept, InParts());
  EXPECT_EQ(first.report.recalled, 0);
  EXPECT_GT(kept.puts, 1);
  ExpectSame(first, Improved(Layers(6), costs, nullptr, InParts()));
  for (const int layers : {6, 8}) {
    const Graph other = Layers(layers, "another");
    const int puts = kept.puts;
    const Outcome second = Improved(other, costs, &kept, InParts());
    ExpectSame(second, Improved(other, costs, nullptr, InParts()));
    EXPECT_GT(second.report.recalled, 1);
    if (layers == 6) EXPECT_EQ(kept.puts, puts);
  }
}

TEST(KeptChoices, WhatChoicesDependOnIsInTheKey) {
  const Graph graph = Layers(1);
  std::map<std::string, std::vector<std::byte>> rows;
  const auto expect_new = [&](std::string_view what, const Graph& of,
                              const ImproveOptions& options,
                              const Costs& costs) {
    MapOfChoices kept;
    Improved(of, costs, &kept, options);
    ASSERT_EQ(kept.rows.size(), 1u) << what;
    EXPECT_TRUE(rows.insert(*kept.rows.begin()).second) << what;
  };
  const RooflineCosts costs;
  const ImproveOptions usual = Reassociating();
  expect_new("nothing", graph, usual, costs);
  for (const RewriteLevel level : {RewriteLevel::kExact, RewriteLevel::kFast}) {
    ImproveOptions options = usual;
    options.level = level;
    expect_new("level", graph, options, costs);
  }
  const std::function<void(ImproveLimits&)> limits[] = {
      [](ImproveLimits& l) { ++l.nodes_per_node; },
      [](ImproveLimits& l) { ++l.more_nodes; },
      [](ImproveLimits& l) { ++l.iterations; },
      [](ImproveLimits& l) { ++l.matches; },
      [](ImproveLimits& l) { ++l.extraction_work; },
      [](ImproveLimits& l) { l.user_nodes *= 2; },
      [](ImproveLimits& l) { ++l.user_iterations; },
  };
  for (const auto& change : limits) {
    ImproveOptions options = usual;
    change(options.limits);
    expect_new("limit", graph, options, costs);
  }
  ImproveOptions options = usual;
  const auto rules =
      ParseUserRules("// a\nrule own exact { neg(neg(%x)) -> %x }");
  if (rules.ok()) {
    options.user_rules = *rules;
    expect_new("user's rules", graph, options, costs);
  } else {
    ADD_FAILURE() << rules.status();
  }
  expect_new("rates", graph, usual, RooflineCosts({.bytes_per_second = 2e10}));
  expect_new("another graph", Layers(2), usual, costs);
  // Names are not.
  MapOfChoices kept;
  Improved(Layers(1, "other"), costs, &kept, usual);
  EXPECT_TRUE(rows.contains(kept.rows.begin()->first));
}

// Ties are broken by the order in which nodes stand.
TEST(KeptChoices, TheOrderOfNodesIsInTheKey) {
  std::string steps;
  for (int i = 0; i < 20; ++i) {
    StrAppend(&steps, "  %s", i, " = tanh(%", i == 0 ? "c" : StrCat("s", i - 1),
              ")\n");
  }
  const auto graph = [&](std::string_view first, std::string_view second) {
    return ParsedGraph(StrCat("graph g(%x: f32[8]) -> f32[8] {\n", first,
                              second, "  %c = add(%a, %b)\n", steps,
                              "  return %s19 as y\n}\n"));
  };
  const std::string_view a = "  %a = sin(%x)\n", b = "  %b = cos(%x)\n";
  MapOfChoices kept;
  const RooflineCosts costs;
  Improved(graph(a, b), costs, &kept);
  Improved(graph(a, b), costs, &kept);
  EXPECT_EQ(kept.puts, 1);
  Improved(graph(b, a), costs, &kept);
  EXPECT_EQ(kept.puts, 2);
}

TEST(KeptChoices, WhatIsDamagedIsMadeAgain) {
  const Graph graph = Layers(1);
  const RooflineCosts costs;
  const Outcome without = Improved(graph, costs, nullptr);
  MapOfChoices whole;
  Improved(graph, costs, &whole);
  const auto& [key, bytes] = *whole.rows.begin();
  for (size_t at = 0; at <= bytes.size(); ++at) {
    MapOfChoices kept = whole;
    auto& damaged = kept.rows[key];
    if (at < bytes.size()) {
      damaged[at] ^= static_cast<std::byte>(1 << at % 8);
    } else {
      damaged.resize(at / 2);
    }
    const Outcome again = Improved(graph, costs, &kept);
    ExpectSame(without, again);
    EXPECT_EQ(again.report.recalled, 0) << at;
    EXPECT_EQ(kept.rows, whole.rows) << at;
    if (testing::Test::HasFailure()) return;
  }
  // Whole, in the place of another graph's.
  MapOfChoices kept;
  Improved(Layers(2), costs, &kept);
  kept.rows.begin()->second = bytes;
  ExpectSame(Improved(Layers(2), costs, nullptr),
             Improved(Layers(2), costs, &kept));
}

// Behind a seal that is right: a graph that is well-typed and of the signature,
// or none.
TEST(KeptChoices, HostileChoicesAreReadLikeGraphsFromOutside) {
  int read = 0, refused = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = Drawn(seed);
    const auto kept = KeptGraph::Of(graph, "");
    if (!kept) continue;
    const auto bytes = kept->Write(graph);
    ASSERT_TRUE(bytes.has_value()) << seed;
    const auto same = kept->Read(*bytes, graph.NewBody(graph.name()));
    ASSERT_TRUE(same.ok()) << same.status();
    EXPECT_EQ(Print(*same), Print(graph));
    for (size_t at = 0; at < bytes->size(); ++at) {
      std::string other = *bytes;
      other[at] = static_cast<char>(other[at] ^ (1 << at % 8));
      const auto again = kept->Read(other, graph.NewBody(graph.name()));
      if (!again.ok()) {
        EXPECT_EQ(again.status().code(), StatusCode::kDataLoss);
        ++refused;
        continue;
      }
      ++read;
      EXPECT_TRUE(Verify(*again).ok());
      ASSERT_EQ(again->outputs().size(), graph.outputs().size());
      for (size_t i = 0; i < graph.outputs().size(); ++i) {
        EXPECT_EQ(again->type(again->outputs()[i].value),
                  graph.type(graph.outputs()[i].value));
      }
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 1000);
}

TEST(KeptChoices, BytesAndBack) {
  KeptChoices choices{.own_seconds = 2,
                      .figures = {1, 2, 3, 4, egraph::StopReason::kNodes},
                      .changed = true};
  choices.choices[{}] = {.cost = 1.5, .bound = 1, .graph = "graph"};
  choices.choices[{.no_weights = true}] = {
      .cost = std::nullopt, .bound = std::nullopt, .graph = ""};
  choices.choices[{.neighbour = kMostNeighbours, .of_graph = true}] = {
      .cost = 2, .bound = std::nullopt, .graph = "neighbour"};
  const std::string bytes = choices.Encode();
  const auto again = KeptChoices::Decode(bytes);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Encode(), bytes);
  EXPECT_EQ(again->choices.at({}).graph, "graph");
  EXPECT_EQ(
      again->choices.at({.neighbour = kMostNeighbours, .of_graph = true}).graph,
      "neighbour");
  EXPECT_EQ(again->figures.stop, egraph::StopReason::kNodes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(KeptChoices::Decode(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(KeptChoices::Decode(bytes + "x").ok());
  choices.choices[{.neighbour = kMostNeighbours + 1}] = {};
  EXPECT_FALSE(KeptChoices::Decode(choices.Encode()).ok());
}

TEST(KeptChoices, WhatTheClockCutShortIsNotKept) {
  const RooflineCosts costs;
  for (const double seconds : {0.0, 1e9}) {
    MapOfChoices kept;
    Deadline deadline(seconds);
    ImproveOptions options = Reassociating();
    options.deadline = &deadline;
    Improved(Layers(1), costs, &kept, options);
    EXPECT_EQ(kept.puts, seconds == 0 ? 0 : 1);
  }
}

}  // namespace
}  // namespace encore::opt
