// Compiles that choose among whole plans by measurements, on the cpu backend.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/conformance/compiled_check.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/map_store.h"
#include "encore/backends/measurement.h"
#include "encore/backends/options.h"
#include "encore/backends/plan_choice.h"
#include "encore/backends/plan_forms.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

const Backend& Cpu() {
  return **std::ranges::find_if(AllBackends(), [](const Backend* backend) {
    return backend->name() == "cpu";
  });
}

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

size_t Launches(const runtime::CompiledGraph& compiled) {
  return std::ranges::count_if(
      compiled.plan(compiled.run).steps, [](const runtime::Step& step) {
        return std::holds_alternative<runtime::Launch>(step.op);
      });
}

// On a machine of known rates.
runtime::CompiledGraph CompileFor(const Graph& graph, CompileOptions options,
                                  ArtifactStore* store) {
  options.target = "cpu:avx2";
  options.machine = "zen4-avx2";
  auto compiled = Compile(graph, options, AllBackends(), store);
  ENCORE_CHECK_OK(compiled.status());
  return *std::move(compiled);
}

// The plan in a form that was measured to take least, which is right.
runtime::CompiledGraph InForm(const Graph& graph, std::string_view form) {
  MapStore store;
  CompileFor(graph, Options(), &store);
  PutText(store, Plans(store).missing.at(0), Fastest(form));
  runtime::CompiledGraph compiled = CompileFor(graph, Options(), &store);
  ExpectRight(graph, compiled);
  return compiled;
}

// Each form is the plan of a compile whose options ask for it, and another one
// than the first.
TEST(PlanTuning, MeasurementsDecide) {
  CompileOptions greedy = Options(), as_written = Options();
  greedy.optimizer = Optimizer::kGreedy;
  as_written.rewrites = Rewrites::kNone;
  const Graph sums = ParsedGraph(R"(
graph g(%x: f32[16,32], %z: f32[16,32]) -> (f32[16], f32[16]) {
  %a = reduce(%x) {axes = [1]}
  %b = reduce(%z) {axes = [1], combiner = max}
  return %a, %b
})");
  const Graph model = Model();
  for (const auto& [graph, form, options] :
       {std::tuple(&sums, "greedy", greedy),
        std::tuple(&model, "as written", as_written)}) {
    const std::string first = BytesOf(CompileFor(*graph, Options(), nullptr));
    EXPECT_EQ(BytesOf(InForm(*graph, PlanForms()[0].name)), first) << form;
    const std::string other = BytesOf(InForm(*graph, form));
    EXPECT_EQ(other, BytesOf(CompileFor(*graph, options, nullptr))) << form;
    EXPECT_NE(other, first) << form;
  }
  // No option asks for the cheapest: sum and maximum in one kernel is estimated
  // to gain less than what is not greedy has to.
  const Graph rows = ParsedGraph(R"(
graph g(%x: f32[256,1024]) -> (f32[256], f32[256]) {
  %s = reduce(%x) {axes = [1]}
  %m = reduce(%x) {axes = [1], combiner = max}
  return %s, %m
})");
  EXPECT_EQ(Launches(InForm(rows, "extracted")), 2u);
  EXPECT_EQ(Launches(InForm(rows, "greedy")), 2u);
  EXPECT_EQ(Launches(InForm(rows, "cheapest")), 1u);
}

// A form that there is none of, and a gain that is none.
TEST(PlanTuning, MeasurementsThatSayNothingKeepTheFirst) {
  const std::string key = Key();
  for (const std::string& text :
       {Fastest("elsewhere"),
        EncodeMeasurement({{{std::string(PlanForms()[0].name), 1, 0},
                            {"as written", 0.99, 0}}})}) {
    MapStore store;
    PutText(store, key, text);
    EXPECT_EQ(BytesOf(CompileModel(&store)), BytesOf(CompileModel(nullptr)));
  }
}

TEST(PlanTuning, WhatIsMeasuredIsUsedByLaterCompiles) {
  MapStore store;
  const runtime::CompiledGraph tuned = CompileModel(&store, 60);
  ExpectRight(Model(), tuned);
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
  EXPECT_EQ(BytesOf(CompileModel(&store)), BytesOf(tuned));
  EXPECT_EQ(BytesOf(CompileModel(&store, 60)), BytesOf(tuned));
  EXPECT_EQ(Plans(store).rows, rows);
  EXPECT_TRUE(Plans(store).missing.empty());
}

TEST(PlanTuning, TooLittleTimeOrNoneKeepsTheFirst) {
  const std::string plain = BytesOf(CompileModel(nullptr));
  for (const double seconds : {0.0, 1e-9}) {
    MapStore store;
    EXPECT_EQ(BytesOf(CompileModel(&store, seconds)), plain);
    EXPECT_TRUE(Plans(store).rows.empty());
  }
}

TEST(PlanTuning, DamagedMeasurementsAreMadeAgain) {
  MapStore store;
  PutText(store, Key(), Fastest("greedy").substr(1));
  EXPECT_EQ(BytesOf(CompileModel(&store)), BytesOf(CompileModel(nullptr)));
  CompileModel(&store, 60);
  EXPECT_TRUE(DecodeMeasurement(Plans(store).rows.begin()->second).has_value());
}

// Data that are made up may never end a loop that others do.
TEST(PlanTuning, LoopsThatDataEndAreNotTimed) {
  const Graph graph = ParsedGraph(R"(
graph g(%n: i64[], %x: f32[8]) -> f32[8] {
  %m, %y = while(%n, %x)
    graph more(%a: i64[], %b: f32[8]) -> bool[] {
      %z = constant() {value = i64[] -1}
      %c = compare(%a, %z) {direction = ne}
      return %c
    }
    graph next(%a: i64[], %b: f32[8]) -> (i64[], f32[8]) {
      %o = constant() {value = i64[] 10}
      %d = sub(%a, %o)
      %e = add(%b, %b)
      return %d, %e
    }
  return %y
})");
  const Backend* const cpu[] = {&Cpu()};
  ASSERT_TRUE(HasPlanForms(Model(), Options(), cpu));
  ASSERT_FALSE(HasPlanForms(graph, Options(), cpu));
  MapStore store;
  const auto compiled = Compile(graph, Options(60), AllBackends(), &store);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_EQ(Plans(store).gets, 0);
  const std::vector<Literal> arguments = {
      Literal::Scalar<int64_t>(19),  // twice
      Literal::FromValues<float>({8}, {1, 2, 3, 4, 5, 6, 7, 8})};
  const auto actual = Replay(graph, *compiled, AllBackends(), arguments);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ((*actual)[0],
            Literal::FromValues<float>({8}, {4, 8, 12, 16, 20, 24, 28, 32}));
}

// What a search came to in its time is not what a measurement is kept under;
// measurements of whole searches decide all the same.
TEST(PlanTuning, NothingIsTimedWhereTheClockMayEndTheSearch) {
  for (const double max_seconds : {1e-9, 1e9}) {
    CompileOptions options = Options(60);
    options.max_seconds = max_seconds;
    const auto compile = [&](MapStore* store) {
      const auto compiled = Compile(Model(), options, AllBackends(), store);
      ENCORE_CHECK_OK(compiled.status());
      return BytesOf(*compiled);
    };
    MapStore store;
    compile(&store);
    EXPECT_TRUE(Plans(store).rows.empty());
    EXPECT_EQ(Plans(store).missing.size(), 1u);
    EXPECT_FALSE(store[kMeasurementKind].rows.empty());
    PutText(store, Key(), Fastest("as written"));
    CompileOptions as_written = Options();
    as_written.rewrites = Rewrites::kNone;
    const auto expected = Compile(Model(), as_written, AllBackends(), &store);
    ENCORE_CHECK_OK(expected.status());
    EXPECT_EQ(compile(&store), BytesOf(*expected));
  }
}

// Kernels of a form that used up the time: with more of it the form would be
// another plan.
TEST(PlanTuning, KernelsThatAreLeftToMeasureEndIt) {
  const Graph graph = Model();
  CompileOptions as_written = Options();
  as_written.rewrites = Rewrites::kNone;
  for (const size_t unmeasured : {size_t{0}, size_t{1}, PlanForms().size()}) {
    std::vector<std::string_view> made;
    const MakePlan make = [&](const PlanForm& form,
                              double seconds) -> StatusOr<MadePlan> {
      EXPECT_LE(seconds, made.empty() ? 60 * kKernelShare : 30);
      MadePlan plan;
      plan.kernels_measured = made.size() != unmeasured;
      ENCORE_ASSIGN_OR_RETURN(
          plan.graph,
          Compile(graph, made.empty() ? Options() : as_written, AllBackends()));
      made.push_back(form.name);
      return plan;
    };
    MapStore store;
    const Backend* const cpu[] = {&Cpu()};
    const auto chosen =
        ChoosePlan(graph, "stencil", cpu, Options(60), make, &store);
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    const bool all = unmeasured == PlanForms().size();
    EXPECT_EQ(made.size(), all ? unmeasured : unmeasured + 1);
    EXPECT_EQ(Plans(store).rows.size(), all ? 1u : 0u);
    if (all) continue;
    EXPECT_EQ(BytesOf(chosen->graph), BytesOf(CompileModel(nullptr)));
  }
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
