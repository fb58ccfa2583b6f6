#include "encore/runtime/plan/smaller_plan.h"

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/plan/compiled_graph_text.h"
#include "encore/runtime/plan/plan_verifier.h"
#include "encore/runtime/testing/device_plans.h"
#include "encore/runtime/testing/plan_runs.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

constexpr int64_t kRow = 256;  // bytes of f32[64]

CompiledGraph Assigned(CompiledGraph graph) {
  EXPECT_TRUE(AssignMemory(&graph).ok());
  EXPECT_EQ(VerifyPlan(graph), OkStatus());
  return graph;
}

CompiledGraph Smaller(const CompiledGraph& graph) {
  auto smaller =
      SmallerPlan(graph, std::vector<bool>(graph.devices.size(), true));
  EXPECT_TRUE(smaller.ok()) << smaller.status();
  EXPECT_EQ(VerifyPlan(*smaller), OkStatus());
  return *std::move(smaller);
}

std::vector<std::string> Entries(const CompiledGraph& graph) {
  std::vector<std::string> entries;
  for (const Step& step : graph.plan(graph.run).steps) {
    if (const auto* launch = std::get_if<Launch>(&step.op)) {
      entries.push_back(graph.kernel_binary(launch->binary).entry);
    }
  }
  return entries;
}

// Two chains side by side, each of which needs a row for a step.
TEST(SmallerPlan, OrdersStepsSoThatChainsEnd) {
  TestGraph g;
  std::vector<SlotId> ends;
  for (int i = 0; i < 4; ++i) {
    const SlotId x = g.Tensor(SlotRole::kInput, {64});
    ends.push_back(g.Temp({64}));
    g.Launch("neg", {x}, {ends.back()});
  }
  for (const SlotId end : ends) {
    g.Launch("relu", {end}, {g.Tensor(SlotRole::kOutput, {64})});
  }
  const CompiledGraph graph = Assigned(g.graph);
  EXPECT_EQ(RunArenaBytes(graph), 4 * kRow);
  const CompiledGraph smaller = Smaller(graph);
  EXPECT_EQ(RunArenaBytes(smaller), kRow);
  EXPECT_EQ(Entries(smaller),
            (std::vector<std::string>{"neg", "relu", "neg", "relu", "neg",
                                      "relu", "neg", "relu"}));
}

// The first value is used at once and at the end: kept, three rows are live.
TEST(SmallerPlan, MakesValuesAgain) {
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {64});
  const SlotId kept = g.Temp({64}), view = g.Temp({64});
  g.graph.slots[view.value()].base = kept;
  g.Launch("neg", {x}, {kept});
  g.graph.plans[0].steps.back().origins = {7};
  SlotId last = kept;
  for (int i = 0; i < 3; ++i) {
    const SlotId next = g.Temp({64});
    g.Launch("relu", {last}, {next});
    last = next;
  }
  g.Launch("add", {last, view}, {g.Tensor(SlotRole::kOutput, {64})});
  const CompiledGraph graph = Assigned(g.graph);
  EXPECT_EQ(RunArenaBytes(graph), 3 * kRow);
  const CompiledGraph smaller = Smaller(graph);
  EXPECT_EQ(RunArenaBytes(smaller), 2 * kRow);
  EXPECT_EQ(Entries(smaller), (std::vector<std::string>{"neg", "relu", "relu",
                                                        "relu", "neg", "add"}));
  EXPECT_EQ(smaller.plan(smaller.run).steps[5].origins,
            std::vector<uint32_t>{7});
}

// What is updated where it lies, or was made of what is, is made once.
TEST(SmallerPlan, WhatChangesIsMadeOnce) {
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {64});
  const SlotId state = g.Temp({64}), made = g.Temp({64});
  g.Launch("neg", {x}, {state});
  g.Launch("relu", {state}, {made});
  g.Launch("update", {made, state}, {state});
  SlotId last = state;
  for (int i = 0; i < 3; ++i) {
    const SlotId next = g.Temp({64});
    g.Launch("relu", {last}, {next});
    last = next;
  }
  const SlotId sum = g.Temp({64});
  g.Launch("add", {last, made}, {sum});
  g.Launch("add", {sum, state}, {g.Tensor(SlotRole::kOutput, {64})});
  const CompiledGraph graph = Assigned(g.graph);
  EXPECT_EQ(Entries(Smaller(graph)).size(), Entries(graph).size());
}

// The same outputs, whatever else there is in a plan; the same plan each time.
TEST(SmallerPlan, GivesTheSameOutputs) {
  ThreadPool threads(1);
  int64_t before = 0, after = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    const CompiledGraph graph =
        RandomDevicePlan(seed, {.kernels = 12,
                                .control_flow = seed % 3 == 0,
                                .memory = {.queued = {false, true, true}}});
    const CompiledGraph smaller = Smaller(graph);
    EXPECT_EQ(CompiledGraphText(Smaller(graph)), CompiledGraphText(smaller));
    EXPECT_LE(RunArenaBytes(smaller), RunArenaBytes(graph));
    before += RunArenaBytes(graph);
    after += RunArenaBytes(smaller);
    const PlanInputs inputs(seed);
    EXPECT_EQ(Expected(smaller, inputs, &threads),
              Expected(graph, inputs, &threads));
  }
  std::cout << "arenas of " << before << " bytes become " << after << "\n";
  EXPECT_LT(after, before);
}

}  // namespace
}  // namespace encore::runtime
