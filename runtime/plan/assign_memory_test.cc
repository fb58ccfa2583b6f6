#include "encore/runtime/plan/assign_memory.h"

#include <vector>

#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

TEST(AssignMemory, PlansATreeOfUses) {
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {64});
  const SlotId out = g.Tensor(SlotRole::kOutput, {64});
  const SlotId a = g.Temp({64}), b = g.Temp({64}), c = g.Temp({64});
  g.Launch("neg", {x}, {a});
  g.Launch("neg", {a}, {b});
  g.Launch("neg", {b}, {c});
  g.Launch("neg", {c}, {out});
  const auto report = AssignMemory(&g.graph);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->arenas.size(), 1u);
  EXPECT_EQ(report->arenas[0].bytes, 512);  // a and c share a place
  EXPECT_EQ(report->arenas[0].lower_bound, 512);
  EXPECT_EQ(g.graph.slot(a).offset, g.graph.slot(c).offset);
  const std::vector<Step>& steps = g.graph.plan(g.run).steps;
  EXPECT_TRUE(std::holds_alternative<Allocate>(steps.front().op));
  EXPECT_TRUE(std::holds_alternative<Deallocate>(steps.back().op));
}

TEST(AssignMemory, InPlaceSymbolicAndRunTimeSizes) {
  TestGraph g;
  g.graph.symbols.push_back({.lower = 1, .upper = 100});
  const SlotId x = g.Tensor(SlotRole::kInput, {Dim::OfSymbol(0)});
  const SlotId a = g.Temp({Dim::OfSymbol(0)}), b = g.Temp({Dim::OfSymbol(0)});
  const SlotId count = g.Temp({1}, DType::kI64);
  // What it may take at most, 4 GiB, is not set aside.
  g.graph.symbols.push_back({.lower = 0,
                             .upper = int64_t{1} << 30,
                             .source = SymbolInfo::Source::kSlot,
                             .index = count.value()});
  const Dim n = Dim::OfSymbol(1);
  const SlotId found = g.Temp({n});
  const SlotId out = g.Tensor(SlotRole::kOutput, {n});
  g.Launch("neg", {x}, {a});
  g.Launch("neg", {a}, {b});
  std::get<Launch>(g.graph.plans[0].steps.back().op).in_place = {{0, 0}};
  g.Launch("count", {b}, {count});
  g.Launch("compact", {b}, {found}, {n});
  g.Launch("neg", {found}, {out});
  const auto report = AssignMemory(&g.graph);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->arenas[0].bytes, 448 + 64);
  EXPECT_EQ(g.graph.slot(a).offset, g.graph.slot(b).offset);
  std::vector<SlotId> allocated, freed;
  for (const Step& step : g.graph.plan(g.run).steps) {
    if (const auto* op = std::get_if<Allocate>(&step.op)) {
      allocated.push_back(op->slot);
    } else if (const auto* op = std::get_if<Deallocate>(&step.op)) {
      freed.push_back(op->slot);
    }
  }
  const SlotId arena = report->arenas[0].arena;
  EXPECT_EQ(allocated, (std::vector<SlotId>{arena, found, out}));
  EXPECT_EQ(freed, (std::vector<SlotId>{found, arena}));
}

}  // namespace
}  // namespace encore::runtime
