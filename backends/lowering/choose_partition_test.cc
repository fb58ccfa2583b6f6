// Extraction against an exhaustive search over all partitions of small graphs,
// by code that shares nothing with the variants' generator.
#include "encore/backends/lowering/choose_partition.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/lowering/fusion_rules.h"
#include "encore/backends/lowering/group_graph.h"
#include "encore/backends/region/build.h"
#include "encore/backends/region/codec.h"
#include "encore/backends/region/region.h"
#include "encore/backends/region/work.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/text/printer.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// A launch, what is moved and computed, and a factor of the region's own, so
// that kernels of equal sizes differ.
double SecondsOf(const Region& region) {
  const Work work = EstimateWork(region, {});
  uint64_t bits = 1469598103934665603u;
  for (const std::byte byte : EncodeRegion(region)) {
    bits = (bits ^ static_cast<uint64_t>(byte)) * 1099511628211u;
  }
  const double own = 0.8 + 0.4 * static_cast<double>(bits >> 40) / (1 << 24);
  return own *
         (1 + (work.read_bytes + work.written_bytes) / 256 + work.flops / 512);
}

FusionContext ContextOf(const Graph& graph) {
  FusionContext context;
  for (const NodeId node : Nodes(graph)) {
    context.sites.push_back(HasRegion(graph, node) ? std::optional(KernelSite{})
                                                   : std::nullopt);
  }
  context.seconds = [](const BuiltRegion& built, KernelSite) {
    return std::optional(SecondsOf(built.region));
  };
  return context;
}

// The cheapest partition into groups that are legal by the traits of their
// pairs, with no cycle between them.
class Exhaustive {
 public:
  Exhaustive(const Graph& graph, const FusionContext& context)
      : graph_(graph), kernels_(graph, context) {
    for (const NodeId node : Nodes(graph)) {
      if (kernels_.is_live(node) && kernels_.HasKernel(node) &&
          !kernels_.IsRematerialized(node)) {
        nodes_.push_back(node);
      }
    }
  }

  size_t size() const { return nodes_.size(); }

  double Best() {
    best_ = kNever;
    std::vector<NodeList> blocks;
    Search(0, &blocks);
    return best_;
  }
  // Of Best.
  const std::vector<NodeList>& best_blocks() const { return best_blocks_; }

 private:
  // At most as deep as there are nodes, a handful.
  void Search(size_t next, std::vector<NodeList>* blocks) {
    if (next == nodes_.size()) {
      const double cost = CostOf(*blocks);
      if (cost < best_) {
        best_ = cost;
        best_blocks_ = *blocks;
      }
      return;
    }
    for (size_t b = 0; b < blocks->size(); ++b) {
      (*blocks)[b].push_back(nodes_[next]);
      Search(next + 1, blocks);
      (*blocks)[b].pop_back();
    }
    blocks->push_back({nodes_[next]});
    Search(next + 1, blocks);
    blocks->pop_back();
  }

  // With the cheap nodes and views that only lead to it.
  NodeList Whole(const NodeList& members) const {
    std::set<NodeId> whole(members.begin(), members.end());
    NodeList work = members;
    while (!work.empty()) {
      const NodeId node = work.back();
      work.pop_back();
      for (const ValueId operand : graph_.operands(node)) {
        const NodeId producer = graph_.producer(operand);
        if (kernels_.HasKernel(producer) && kernels_.IsCheap(producer) &&
            whole.insert(producer).second) {
          work.push_back(producer);
        }
      }
    }
    return {whole.begin(), whole.end()};
  }

  double GroupSeconds(const NodeList& members) {
    const auto known = seconds_.find(members);
    if (known != seconds_.end()) return known->second;
    double seconds = kNever;
    if (IsLegal(members)) {
      const NodeList whole = Whole(members);
      seconds =
          kernels_.Seconds(whole, kernels_.OutputsOf(whole)).value_or(kNever);
    }
    seconds_[members] = seconds;
    return seconds;
  }

  // Each reads one of the others that it may be one kernel with, or the same
  // as one of them.
  bool IsLegal(const NodeList& members) const {
    const SourceOfValue source = [&](ValueId value) {
      return graph_.producer(value);
    };
    std::vector<NodeId> reached = {members[0]};
    std::set<NodeId> rest(members.begin() + 1, members.end());
    for (size_t i = 0; i < reached.size(); ++i) {
      for (const NodeId other : NodeList(rest.begin(), rest.end())) {
        if (Reads(reached[i], other) || Reads(other, reached[i]) ||
            Share(reached[i], other)) {
          rest.erase(other);
          reached.push_back(other);
        }
      }
    }
    if (!rest.empty()) return false;
    for (const NodeId node : members) {
      const NodeList before = Before(members, node);
      if (before.empty()) continue;
      if (!MayFuse(kernels_, before, {node}, source)) return false;
      // What is moved before a contraction is not stored by it.
      if (IsMoveBeforeContraction(kernels_, before, {node}, source) &&
          std::ranges::any_of(before,
                              [&](NodeId n) { return IsRead(n, members); })) {
        return false;
      }
    }
    return true;
  }
  // Whether the result is an output, or read by others than `members`.
  bool IsRead(NodeId node, const NodeList& members) const {
    const ValueId value = graph_.result(node);
    return kernels_.is_output(value) ||
           std::ranges::any_of(kernels_.users(value), [&](NodeId user) {
             return !Contains(members, user);
           });
  }
  // What of `members` leads to `node`.
  NodeList Before(const NodeList& members, NodeId node) const {
    std::set<NodeId> before;
    NodeList work = {node};
    while (!work.empty()) {
      const NodeId next = work.back();
      work.pop_back();
      for (const NodeId from : members) {
        if (Reads(next, from) && before.insert(from).second) {
          work.push_back(from);
        }
      }
    }
    return {before.begin(), before.end()};
  }
  bool Reads(NodeId node, NodeId from) const {
    const auto operands = graph_.operands(node);
    return std::ranges::find(operands, graph_.result(from)) != operands.end();
  }
  bool Share(NodeId one, NodeId other) const {
    if (graph_.shape(graph_.result(one)) != graph_.shape(graph_.result(other)))
      return false;
    return std::ranges::any_of(graph_.operands(one), [&](ValueId value) {
      const auto operands = graph_.operands(other);
      return std::ranges::find(operands, value) != operands.end();
    });
  }

  double CostOf(const std::vector<NodeList>& groups) {
    double total = 0;
    for (const NodeList& group : groups) {
      total += GroupSeconds(group);
      if (total >= best_) return kNever;
    }
    std::map<NodeId, int> of;
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const NodeId node : groups[g]) of[node] = static_cast<int>(g);
    }
    if (HasCycle(groups, of)) return kNever;
    std::vector<Group> whole;
    for (const NodeList& group : groups) whole.push_back({Whole(group), {}});
    return total + CheapSeconds(std::move(whole));
  }
  // Of cheap nodes whose results are read by what does not make them itself.
  double CheapSeconds(std::vector<Group> groups) {
    for (const NodeId node : Nodes(graph_)) {
      if (!kernels_.is_live(node) || !kernels_.HasKernel(node) ||
          !kernels_.IsCheap(node)) {
        continue;
      }
      groups.push_back({{node}, {graph_.result(node)}});
    }
    double total = 0;
    for (const Group& group : kernels_.Ordered(std::move(groups))) {
      if (!kernels_.IsCheap(group.nodes.back())) continue;
      total += kernels_.Seconds(group.nodes, group.outputs).value_or(kNever);
    }
    return total;
  }
  // Whether some block waits for itself.
  bool HasCycle(const std::vector<NodeList>& groups,
                const std::map<NodeId, int>& of) const {
    std::vector<std::set<int>> needs(groups.size());
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const NodeId node : Whole(groups[g])) {
        for (const ValueId operand : graph_.operands(node)) {
          const auto at = of.find(graph_.producer(operand));
          if (at != of.end() && at->second != static_cast<int>(g)) {
            needs[g].insert(at->second);
          }
        }
      }
    }
    size_t done = 0;
    std::set<int> finished;
    for (bool progress = true; progress;) {
      progress = false;
      for (size_t g = 0; g < groups.size(); ++g) {
        const int number = static_cast<int>(g);
        if (finished.contains(number)) continue;
        const bool ready = std::ranges::all_of(
            needs[g], [&](int n) { return finished.contains(n); });
        if (!ready) continue;
        finished.insert(number);
        ++done;
        progress = true;
      }
    }
    return done < groups.size();
  }

  const Graph& graph_;
  GroupGraph kernels_;
  NodeList nodes_;
  std::map<NodeList, double> seconds_;
  double best_ = kNever;
  std::vector<NodeList> best_blocks_;
};

RandomGraphOptions Drawn(int nodes) {
  RandomGraphOptions options;
  options.nodes = nodes;
  options.ops = {Op::kAdd,        Op::kMul,    Op::kNeg,       Op::kAbs,
                 Op::kReduce,     Op::kSub,    Op::kBroadcast, Op::kTranspose,
                 Op::kDotGeneral, Op::kConcat, Op::kSlice,     Op::kTanh};
  options.dtypes = {DType::kF32};
  options.max_elements = 300;
  return options;
}

// Heads that share keys, and what models have around: rows that are views of
// others, a transpose of the keys.
constexpr char kAttention[] = R"(
graph attention(%q: f32[2,6,8], %k: f32[2,5,8], %v: f32[2,5,4]) -> f32[2,6,4] {
  %kt = transpose(%k) {permutation = [0,2,1]}
  %s = dot_general(%q, %kt) {contract = [2]x[1], batch = [0]x[0]}
  %h = reshape(%s) {shape = [2,3,2,5]}
  %m = reduce(%h) {axes = [3], combiner = max}
  %mb = broadcast(%m) {shape = [2,3,2,5], axes = [0,1,2]}
  %d = sub(%h, %mb)
  %e = exp(%d)
  %l = reduce(%e) {axes = [3]}
  %lb = broadcast(%l) {shape = [2,3,2,5], axes = [0,1,2]}
  %p = div(%e, %lb)
  %g = reshape(%p) {shape = [2,6,5]}
  %y = dot_general(%g, %v) {contract = [2]x[1], batch = [0]x[0]}
  return %y
})";

// The same over keys of which one is new, in a cache that is a result too: the
// product reads it as it is, or transposed, as models write it.
constexpr char kCache[] = R"(
graph attention(%q: f32[2,5,8], %c: f32[2,5,8], %n: f32[2,1,8], %v: f32[2,5,8]) -> (f32[2,5,8], f32[2,5,8]) {
  %i = constant() {value = i64[3] [0, 4, 0]}
  %k = dynamic_update_slice(%c, %n, %i)
)";
constexpr char kProduct[] =
    "  %s = dot_general(%q, %k) {contract = [2]x[2], batch = [0]x[0]}\n";
constexpr char kProductOfTransposed[] = R"(
  %kt = transpose(%k) {permutation = [0,2,1]}
  %s = dot_general(%q, %kt) {contract = [2]x[1], batch = [0]x[0]}
)";
constexpr char kSoftmaxAndValues[] = R"(
  %m = reduce(%s) {axes = [2], combiner = max}
  %mb = broadcast(%m) {shape = [2,5,5], axes = [0,1]}
  %d = sub(%s, %mb)
  %e = exp(%d)
  %l = reduce(%e) {axes = [2]}
  %lb = broadcast(%l) {shape = [2,5,5], axes = [0,1]}
  %p = div(%e, %lb)
  %y = dot_general(%p, %v) {contract = [2]x[1], batch = [0]x[0]}
  return %y, %k
})";

// The groups of kAttention where a kernel takes a second for each input that it
// reads, and one of both products `chain`; nothing: there is none.
size_t CountChained(std::optional<double> chain) {
  const StatusOr<Graph> graph = ParseGraph(kAttention);
  EXPECT_TRUE(graph.ok()) << graph.status();
  FusionContext context = ContextOf(*graph);
  context.seconds = [&](const BuiltRegion& built, KernelSite) {
    const auto products =
        std::ranges::count_if(built.region.stages, [](const Stage& stage) {
          return stage.kind == Stage::Kind::kReduce && !stage.loops.empty();
        });
    return products == 2 ? chain
                         : std::optional<double>(
                               static_cast<double>(built.inputs.size()));
  };
  const auto groups = ChoosePartition(*graph, context);
  EXPECT_TRUE(groups.ok()) << groups.status();
  return groups.ok() ? groups->size() : 0;
}

TEST(ChoosePartitionTest, ContractionsAreChainedWhereABackendHasAKernel) {
  EXPECT_EQ(CountChained(1.0), 1);
  const size_t apart = CountChained(std::nullopt);
  EXPECT_GE(apart, 3);
  EXPECT_EQ(CountChained(100.0), apart);
}

// A kernel of attention that stores the cache as well could not update it in
// place.
TEST(ChoosePartitionTest, WhatIsMovedAndStoredStaysBesideAChain) {
  for (const char* product : {kProduct, kProductOfTransposed}) {
    const StatusOr<Graph> graph =
        ParseGraph(StrCat(kCache, product, kSoftmaxAndValues));
    ASSERT_TRUE(graph.ok()) << graph.status();
    FusionContext context = ContextOf(*graph);
    context.seconds = [](const BuiltRegion&, KernelSite) {
      return std::optional<double>(1);
    };
    const auto groups = ChoosePartition(*graph, context);
    ASSERT_TRUE(groups.ok()) << groups.status();
    ASSERT_EQ(groups->size(), 2) << product;
    for (const Group& group : *groups) {
      EXPECT_EQ(group.outputs.size(), 1) << product;
    }
    // What stores the cache updates it and does nothing else.
    const ValueId cache = graph->outputs()[1].value;
    const auto stores = std::ranges::find_if(*groups, [&](const Group& group) {
      return group.outputs == std::vector{cache};
    });
    ASSERT_NE(stores, groups->end()) << product;
    for (const NodeId node : stores->nodes) {
      EXPECT_TRUE(graph->op(node) == Op::kDynamicUpdateSlice ||
                  graph->op(node) == Op::kConstant)
          << product;
    }
  }
}

// Layers that read one number, where fewer kernels cost less: a layer in the
// kernel of the next would be computed again for each of its products.
TEST(ChoosePartitionTest, LayersAreNotChained) {
  const StatusOr<Graph> graph = ParseGraph(R"(
graph layers(%x: f32[24,64], %v: f32[64,64], %w: f32[64,64]) -> f32[24,64] {
  %0 = constant() {value = f32[] 0}
  %z = broadcast(%0) {shape = [24,64], axes = []}
  %a = dot_general(%x, %v) {contract = [1]x[0]}
  %b = max(%a, %z)
  %c = dot_general(%b, %w) {contract = [1]x[0]}
  %y = max(%c, %z)
  return %y
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  FusionContext context = ContextOf(*graph);
  context.seconds = [](const BuiltRegion&, KernelSite) {
    return std::optional<double>(1);
  };
  const auto groups = ChoosePartition(*graph, context);
  ASSERT_TRUE(groups.ok()) << groups.status();
  EXPECT_EQ(groups->size(), 2);
}

// A pad and the broadcast of its result are one kernel, which reads another
// broadcast: that is made, although what reads it ends in a broadcast itself.
TEST(ChoosePartitionTest, WhatIsReadBeforeALastBroadcastIsNeeded) {
  const StatusOr<Graph> graph = ParseGraph(R"(
graph g(%x: f32[2]) -> f32[1,4,3] {
  %b = broadcast(%x) {shape = [3,2], axes = [1]}
  %c = constant() {value = f32[] 1}
  %p = pad(%b, %c) {low = [1,1], high = [0,0], interior = [0,0]}
  %y = broadcast(%p) {shape = [1,4,3], axes = [1,2]}
  return %y
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const FusionContext context = ContextOf(*graph);
  const NodeId y = graph->producer(graph->outputs()[0].value);
  const NodeId p = graph->producer(graph->operand(y, 0));
  const NodeId b = graph->producer(graph->operand(p, 0));
  const GroupGraph kernels(*graph, context);
  const std::vector<Group> groups = kernels.Ordered(
      {{{p, y}, {graph->result(y)}}, {{b}, {graph->result(b)}}});
  ASSERT_EQ(groups.size(), 2);
  EXPECT_EQ(groups[0].nodes, NodeList{b});
  EXPECT_EQ(groups[1].nodes, (NodeList{p, y}));
}

std::string ToText(const std::vector<NodeList>& groups) {
  std::string text;
  for (const NodeList& group : groups) {
    text += " {";
    for (const NodeId node : group) StrAppend(&text, " ", node.value());
    text += " }";
  }
  return text;
}

// A quarter of 2,000 graphs.
class ChoosePartitionTest : public testing::TestWithParam<int> {};

TEST_P(ChoosePartitionTest, IsAsGoodAsTheBestPartition) {
  int graphs = 0, as_good = 0, better = 0;
  for (uint64_t seed = 1 + GetParam(); graphs < 500; seed += 4) {
    const Graph graph =
        RandomGraph(seed, Drawn(7 + static_cast<int>(seed % 3)));
    const FusionContext context = ContextOf(graph);
    Exhaustive exhaustive(graph, context);
    if (exhaustive.size() < 2 || exhaustive.size() > 9) continue;
    PartitionReport report;
    const auto chosen =
        ChoosePartition(graph, context, {.least_gain = 0}, &report);
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    const double best = exhaustive.Best();
    if (best == kNever) continue;
    ++graphs;
    ASSERT_TRUE(report.bound.has_value());
    EXPECT_LE(*report.bound, report.chosen * (1 + 1e-9))
        << "seed " << seed << "\n"
        << Print(graph);
    EXPECT_LE(report.cheapest, report.chosen * (1 + 1e-9));
    better += report.chosen < best * (1 - 1e-9);
    if (report.chosen <= best * (1 + 1e-9)) {
      ++as_good;
      continue;
    }
    std::cout << "seed " << seed << ": " << report.chosen / best
              << " times the best\n";
    std::vector<NodeList> groups;
    for (const Group& group : *chosen) groups.push_back(group.nodes);
    EXPECT_LE(report.chosen, best * 1.05)
        << Print(graph) << "chosen:" << ToText(groups)
        << "\nbest:" << ToText(exhaustive.best_blocks());
  }
  std::cout << graphs << " graphs: " << as_good << " as good as the best, of "
            << "these " << better << " better by computing again\n";
  EXPECT_GE(as_good, graphs * 98 / 100);
}

INSTANTIATE_TEST_SUITE_P(Quarters, ChoosePartitionTest, testing::Range(0, 4));

}  // namespace
}  // namespace encore::backends
