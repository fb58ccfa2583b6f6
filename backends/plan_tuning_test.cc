// Compiles that choose among whole plans by measurements, on the cpu backend.
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/map_store.h"
#include "encore/backends/measurement.h"
#include "encore/backends/options.h"
#include "encore/backends/plan_forms.h"
#include "encore/ir/support/check.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

MapStore::Kind& Plans(MapStore& store) { return store[kPlanMeasurementKind]; }

void PutText(MapStore& store, const std::string& key, std::string_view text) {
  store.Put(kPlanMeasurementKind, key, std::as_bytes(std::span(text)));
}

// Two products that rules make one, with something after it.
Graph Model() {
  return ParsedGraph(R"(
graph g(%x: f32[96,128], %v: param f32[128,64], %w: param f32[128,64]) -> f32[96,64] {
  %0 = dot_general(%x, %v) {contract = [1]x[0]}
  %1 = dot_general(%x, %w) {contract = [1]x[0]}
  %2 = add(%0, %1)
  %y = tanh(%2)
  return %y
})");
}

CompileOptions Options(double seconds = 0) {
  CompileOptions options;
  options.threads = 2;
  options.tune_seconds = seconds;
  return options;
}

runtime::CompiledGraph CompileModel(ArtifactStore* store, double seconds = 0) {
  auto compiled = Compile(Model(), Options(seconds), AllBackends(), store);
  ENCORE_CHECK_OK(compiled.status());
  return *std::move(compiled);
}

std::string Bytes(const runtime::CompiledGraph& graph) {
  const auto bytes = runtime::SerializeCompiledGraph(graph);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void ExpectRight(const runtime::CompiledGraph& compiled) {
  const Graph graph = Model();
  const std::vector<Literal> arguments = RandomArguments(graph, 7);
  const auto bounds = EvaluateBounds(graph, arguments);
  const auto actual = Replay(graph, compiled, AllBackends(), arguments);
  ASSERT_TRUE(bounds.ok() && actual.ok()) << actual.status();
  EXPECT_EQ(Difference(*actual, *bounds), std::nullopt);
}

// The key under which the plan is looked for.
std::string Key() {
  MapStore store;
  CompileModel(&store);
  ENCORE_CHECK(Plans(store).missing.size() == 1);
  return Plans(store).missing[0];
}

// A measurement in which `form` took half of what the first one did.
std::string Fastest(std::string_view form) {
  return EncodeMeasurement(
      {{{std::string(PlanForms()[0].name), 2, 0}, {std::string(form), 1, 0}}});
}

TEST(PlanTuning, MeasurementsDecide) {
  const std::string key = Key();
  std::map<std::string, int> plans;
  for (const PlanForm& form : PlanForms()) {
    MapStore store;
    PutText(store, key, Fastest(form.name));
    const runtime::CompiledGraph compiled = CompileModel(&store);
    EXPECT_EQ(Bytes(CompileModel(&store)), Bytes(compiled)) << form.name;
    ExpectRight(compiled);
    ++plans[Bytes(compiled)];
  }
  EXPECT_GE(plans.size(), 2u);
  // None that is called so, and a gain that is none.
  for (const std::string& text :
       {Fastest("elsewhere"),
        EncodeMeasurement({{{std::string(PlanForms()[0].name), 1, 0},
                            {"as written", 0.99, 0}}})}) {
    MapStore store;
    PutText(store, key, text);
    EXPECT_EQ(Bytes(CompileModel(&store)), Bytes(CompileModel(nullptr)));
  }
}

TEST(PlanTuning, WhatIsMeasuredIsUsedByLaterCompiles) {
  MapStore store;
  const runtime::CompiledGraph tuned = CompileModel(&store, 60);
  ExpectRight(tuned);
  ASSERT_EQ(Plans(store).rows.size(), 1u);
  const auto measured = DecodeMeasurement(Plans(store).rows.begin()->second);
  ASSERT_TRUE(measured.has_value());
  EXPECT_EQ(measured->timings[0].kernel, PlanForms()[0].name);
  ASSERT_GE(measured->timings.size(), 2u);
  std::set<std::string> names;
  for (const Measurement::Timing& timing : measured->timings) {
    EXPECT_LT(timing.seconds, 1) << timing.kernel;
    EXPECT_TRUE(names.insert(timing.kernel).second) << timing.kernel;
  }
  const auto rows = Plans(store).rows;
  Plans(store).missing.clear();
  EXPECT_EQ(Bytes(CompileModel(&store)), Bytes(tuned));
  EXPECT_EQ(Bytes(CompileModel(&store, 60)), Bytes(tuned));
  EXPECT_EQ(Plans(store).rows, rows);
  EXPECT_TRUE(Plans(store).missing.empty());
}

TEST(PlanTuning, TooLittleTimeOrNoneKeepsTheFirst) {
  const std::string plain = Bytes(CompileModel(nullptr));
  for (const double seconds : {0.0, 1e-9}) {
    MapStore store;
    EXPECT_EQ(Bytes(CompileModel(&store, seconds)), plain);
    EXPECT_TRUE(Plans(store).rows.empty());
  }
}

TEST(PlanTuning, DamagedMeasurementsAreMadeAgain) {
  MapStore store;
  PutText(store, Key(), Fastest("greedy").substr(1));
  EXPECT_EQ(Bytes(CompileModel(&store)), Bytes(CompileModel(nullptr)));
  CompileModel(&store, 60);
  EXPECT_TRUE(DecodeMeasurement(Plans(store).rows.begin()->second).has_value());
}

// Where the user's options, the backend or the graph leave no choice, and where
// results are not to depend on what a machine measured.
TEST(PlanTuning, NothingIsMeasuredWhereThereIsNoChoice) {
  const auto asks = [](const Graph& graph, const CompileOptions& options) {
    MapStore store;
    ENCORE_CHECK_OK(Compile(graph, options, AllBackends(), &store).status());
    return Plans(store).gets > 0;
  };
  EXPECT_TRUE(asks(Model(), Options()));
  CompileOptions options = Options();
  options.optimizer = Optimizer::kGreedy;
  EXPECT_FALSE(asks(Model(), options));
  options = Options();
  options.deterministic = true;
  EXPECT_FALSE(asks(Model(), options));
  options = Options(60);
  options.target = "ref";
  EXPECT_FALSE(asks(Model(), options));
  EXPECT_FALSE(asks(ParsedGraph("graph g(%x: f32[100000,100000]) -> f32[1] {\n"
                                "  %0 = slice(%x) {starts = [0,0], "
                                "limits = [1,1], strides = [1,1]}\n"
                                "  %y = reshape(%0) {shape = [1]}\n"
                                "  return %y\n}"),
                    Options(60)));
}

TEST(PlanTuning, WhatPlansDependOnIsInTheKey) {
  std::set<std::string> keys = {Key()};
  const auto add = [&](const CompileOptions& options) {
    MapStore store;
    ENCORE_CHECK_OK(Compile(Model(), options, AllBackends(), &store).status());
    EXPECT_TRUE(keys.insert(Plans(store).missing.at(0)).second);
  };
  CompileOptions options = Options();
  options.threads = 1;
  add(options);
  options = Options();
  options.rewrites = Rewrites::kExact;
  add(options);
  options = Options();
  options.expect_calls = 1;
  add(options);
  options = Options();
  options.memory = 5;
  add(options);
}

}  // namespace
}  // namespace encore::backends
