// Random graphs compute the same whatever rewrites they are compiled with.
//
// Each graph is improved under random costs, so that any choice may be the
// cheapest, at each level; where no choice is, it is compiled with the rewrites
// and costs of a compile. What comes of it is run on ref and on cpu:
//
//   exact: on ref the bits of the graph without rewrites (any NaN for any NaN);
//   all: within the bounds of the rewritten graph (bounds.h), each of which
//     meets that of the graph as it was: both hold the exact result. Where that
//     is finite under `reassociate`, the other is; `fast` is looked at where
//     both are, and may miss by 1e-5 of the result's largest number, as it
//     makes products of quotients.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/symbol_binding.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/transform/specialize.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/literal_compare.h"
#include "encore/opt/passes/pipeline.h"
#include "encore/opt/tensor/improve.h"
#include "encore/opt/tensor/testing/random_costs.h"
#include "encore/opt/tensor/testing/rewritten_graphs.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

using opt::RewriteLevel;

// Graphs a level; ENCORE_REWRITTEN_GRAPHS says another number, and
// ENCORE_REWRITTEN_FROM the first seed.
uint64_t FromEnvironment(const char* name, uint64_t fallback) {
  const char* const text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

Graph DrawnGraph(uint64_t seed) {
  if (seed % 3 != 0) {
    return RandomGraph(seed, opt::MovementAndProducts(12, seed % 2 == 1));
  }
  RandomGraphOptions random;
  random.nodes = 12;
  random.symbolic = seed % 2 == 1;
  random.dtypes = {DType::kBool, DType::kI32, DType::kI64, DType::kF32};
  return RandomGraph(seed, random);
}

// The graph after the pass rewrite.
class Rewritten : public opt::PassObserver {
 public:
  bool verify() const override { return true; }
  void Ran(const opt::PassRun& run) override {
    if (run.status.ok() && run.pass.name == "rewrite") {
      graph_ = run.after.Clone();
    }
  }
  std::optional<Graph>& graph() { return graph_; }

 private:
  std::optional<Graph> graph_;
};

// With the sizes of the arguments in place of symbols.
StatusOr<Graph> AtSizesOf(const Graph& graph,
                          std::span<const Literal> arguments) {
  SymbolBinding binding(graph.symbols());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Graph::Argument& argument = graph.arguments()[i];
    ENCORE_RETURN_IF_ERROR(binding.Bind(
        argument.name, graph.shape(argument.value), arguments[i].dims()));
  }
  return Specialize(graph, binding.replacements());
}

StatusOr<std::vector<Literal>> CompileAndRun(
    const Graph& any, std::string_view target, Rewrites rewrites,
    std::span<const Literal> arguments, opt::PassObserver* passes = nullptr) {
  // cpu does not take all symbolic sizes.
  ENCORE_ASSIGN_OR_RETURN(const Graph graph, target == "cpu"
                                                 ? AtSizesOf(any, arguments)
                                                 : any.Clone());
  CompileOptions options;
  options.target = target;
  options.rewrites = rewrites;
  const auto compiled = Compile(graph, options, AllBackends(), nullptr, passes);
  if (!compiled.ok()) return compiled.status();
  return Replay(graph, *compiled, AllBackends(), arguments);
}

Rewrites OptionOf(RewriteLevel level) {
  switch (level) {
    case RewriteLevel::kNone:
      return Rewrites::kNone;
    case RewriteLevel::kExact:
      return Rewrites::kExact;
    case RewriteLevel::kReassociate:
      return Rewrites::kReassociate;
    case RewriteLevel::kFast:
      return Rewrites::kFast;
  }
  return Rewrites::kNone;
}

// Of the largest finite number of either result.
constexpr double kRounding = 1e-5;

double LargestOf(const Bounds& a, const Bounds& b) {
  double largest = 0;
  for (int64_t i = 0; i < a.expected.element_count(); ++i) {
    for (const double x : {a.expected.AsDouble(i), b.expected.AsDouble(i)}) {
      if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    }
  }
  return largest;
}

// Where the bounds of two graphs for one result do not meet; empty if nowhere.
std::string WhereApart(const Bounds& a, const Bounds& b, RewriteLevel level) {
  if (IsString(a.expected.dtype())) {
    return a.expected == b.expected ? "" : "the strings differ";
  }
  const double slack =
      level == RewriteLevel::kFast && IsFloat(a.expected.dtype())
          ? kRounding * LargestOf(a, b)
          : 0;
  for (int64_t i = 0; i < a.expected.element_count(); ++i) {
    const auto text = [&](double x, double y) {
      return StrCat("element ", i, " is ", y, ", expected ", x);
    };
    if (!IsFloat(a.expected.dtype())) {
      const auto x = static_cast<double>(a.expected.AsInt(i));
      const auto y = static_cast<double>(b.expected.AsInt(i));
      if (a.expected.AsInt(i) != b.expected.AsInt(i)) return text(x, y);
      continue;
    }
    const double x = a.expected.AsDouble(i), y = b.expected.AsDouble(i);
    if (!std::isfinite(x) || !std::isfinite(y)) {
      const bool right =
          level == RewriteLevel::kFast || std::isfinite(x) == std::isfinite(y);
      // A bound that is no number says that the result may be infinite.
      const bool unsure = !std::isfinite(a.low.AsDouble(i)) ||
                          !std::isfinite(a.high.AsDouble(i));
      if (!right && !unsure) return text(x, y);
      continue;
    }
    if (a.low.AsDouble(i) > b.high.AsDouble(i) + slack ||
        b.low.AsDouble(i) > a.high.AsDouble(i) + slack) {
      return text(x, y);
    }
  }
  return "";
}

struct Subject {
  Graph graph;
  std::vector<Literal> arguments;
  std::vector<Bounds> bounds;
  std::vector<Literal> on_ref;  // without rewrites
};

// Weights of sizes that are known at run time only are none that a plan takes.
bool HasPlainWeights(const Graph& graph) {
  return std::ranges::all_of(
      graph.arguments(), [&](const Graph::Argument& argument) {
        const NodeId node = graph.producer(argument.value);
        return graph.op(node) != Op::kParameter ||
               graph.shape(argument.value).is_constant();
      });
}

// Nothing where the graph is not compiled, or fails on its arguments.
std::optional<Subject> MakeSubject(uint64_t seed) {
  Subject subject{DrawnGraph(seed), {}, {}, {}};
  if (!HasPlainWeights(subject.graph)) return std::nullopt;
  subject.arguments = RandomArguments(subject.graph, seed);
  auto bounds = EvaluateBounds(subject.graph, subject.arguments);
  if (!bounds.ok()) return std::nullopt;
  subject.bounds = *std::move(bounds);
  auto on_ref =
      CompileAndRun(subject.graph, "ref", Rewrites::kNone, subject.arguments);
  EXPECT_TRUE(on_ref.ok()) << on_ref.status() << Print(subject.graph);
  if (!on_ref.ok()) return std::nullopt;
  subject.on_ref = *std::move(on_ref);
  return subject;
}

void CheckResults(const Subject& subject, const Graph& after,
                  RewriteLevel level, std::string_view target,
                  const std::vector<Literal>& results) {
  SCOPED_TRACE(StrCat("on ", target, "\n", Print(subject.graph), "became\n",
                      Print(after)));
  const auto bounds = EvaluateBounds(after, subject.arguments);
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  const auto difference = Difference(results, *bounds);
  EXPECT_FALSE(difference.has_value()) << *difference;
  for (size_t k = 0; k < results.size(); ++k) {
    EXPECT_EQ(WhereApart(subject.bounds[k], (*bounds)[k], level), "")
        << "output " << k;
    if (level == RewriteLevel::kExact && target == "ref") {
      EXPECT_TRUE(SameBitsButNan(results[k], subject.on_ref[k]))
          << "output " << k;
    }
  }
}

// Returns whether the graph changed.
bool CheckLevel(const Subject& subject, RewriteLevel level, uint64_t seed) {
  const opt::RandomCosts costs(seed);
  opt::ImproveReport report;
  opt::ImproveOptions options;
  options.level = level;
  options.costs = &costs;
  options.report = &report;
  const auto improved = opt::Improve(subject.graph, options);
  EXPECT_TRUE(improved.ok() && report.fault.ok()) << report.fault;
  if (!improved.ok()) return false;
  for (const std::string_view target : {"ref", "cpu"}) {
    Rewritten passes;
    const bool changed = improved->has_value();
    const Graph& graph = changed ? **improved : subject.graph;
    const auto results = CompileAndRun(
        graph, target, changed ? Rewrites::kNone : OptionOf(level),
        subject.arguments, &passes);
    EXPECT_TRUE(results.ok()) << results.status() << Print(graph);
    if (!results.ok() || !passes.graph()) continue;
    CheckResults(subject, changed ? graph : *passes.graph(), level, target,
                 *results);
  }
  return improved->has_value();
}

class RewritesTest : public testing::TestWithParam<RewriteLevel> {};

TEST_P(RewritesTest, RandomGraphsComputeTheSame) {
  const uint64_t wanted = FromEnvironment("ENCORE_REWRITTEN_GRAPHS", 150);
  const uint64_t from = FromEnvironment("ENCORE_REWRITTEN_FROM", 0);
  uint64_t graphs = 0, changed = 0;
  for (uint64_t seed = from; graphs < wanted; ++seed) {
    const auto subject = MakeSubject(seed);
    if (HasFailure()) return;
    if (!subject) continue;
    ++graphs;
    SCOPED_TRACE(StrCat("seed ", seed));
    changed += CheckLevel(*subject, GetParam(), seed);
    if (HasFailure()) return;
  }
  std::cout << changed << " of " << graphs << " graphs changed\n";
  EXPECT_GE(changed, wanted / 10);
}

std::string LevelName(const testing::TestParamInfo<RewriteLevel>& info) {
  switch (info.param) {
    case RewriteLevel::kNone:
      return "None";
    case RewriteLevel::kExact:
      return "Exact";
    case RewriteLevel::kReassociate:
      return "Reassociate";
    case RewriteLevel::kFast:
      return "Fast";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Levels, RewritesTest,
                         testing::Values(RewriteLevel::kExact,
                                         RewriteLevel::kReassociate,
                                         RewriteLevel::kFast),
                         LevelName);

}  // namespace
}  // namespace encore::backends
