#include "encore/runtime/plan/assign_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "encore/runtime/plan/compiled_graph_text.h"
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

// Two chains on two devices with queues; what either has in flight is in the
// way of the other, whose steps come between.
struct Chains {
  TestGraph g{PoolId(1)};
  std::vector<SlotId> slots[2];

  explicit Chains(int length) {
    g.graph.devices.push_back({"other", 0, PoolId(1)});
    for (int d = 0; d < 2; ++d) {
      slots[d] = {g.Tensor(SlotRole::kInput, {64})};
      for (int i = 0; i < length; ++i) slots[d].push_back(g.Temp({64}));
      slots[d].push_back(g.Tensor(SlotRole::kOutput, {64}));
    }
    for (size_t i = 0; i + 1 < slots[0].size(); ++i) {
      for (int d = 0; d < 2; ++d) {
        g.Launch("neg", {slots[d][i]}, {slots[d][i + 1]});
        std::get<Launch>(g.graph.plans[0].steps.back().op).device = DeviceId(d);
      }
    }
  }

  // How many places both chains use.
  int Shared() const {
    std::set<int64_t> places[2];
    for (int d = 0; d < 2; ++d) {
      for (const SlotId slot : slots[d]) {
        if (!g.graph.slot(slot).base.valid()) continue;
        places[d].insert(g.graph.slot(slot).offset.constant());
      }
    }
    return static_cast<int>(std::ranges::count_if(
        places[0], [&](int64_t place) { return places[1].contains(place); }));
  }
};

TEST(AssignMemory, PlacesInFlightAreKeptWhereThereIsRoom) {
  Chains plain(6), same(6), kept(6);
  const auto least = AssignMemory(&plain.g.graph);
  ASSERT_TRUE(least.ok());
  EXPECT_GT(plain.Shared(), 0);
  // Without queues nothing changes.
  ASSERT_TRUE(
      AssignMemory(&same.g.graph, {.queued = {false, false}, .growth = 9})
          .ok());
  EXPECT_EQ(CompiledGraphText(same.g.graph), CompiledGraphText(plain.g.graph));
  const auto report =
      AssignMemory(&kept.g.graph, {.queued = {true, true}, .growth = 9});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(kept.Shared(), 0);
  // Within a chain each step comes after the last, so that places are free: the
  // arena grows no further than two of them.
  EXPECT_LE(report->arenas[0].bytes, 4 * 256);
  EXPECT_EQ(report->arenas[0].lower_bound, least->arenas[0].lower_bound);
}

TEST(AssignMemory, ArenasStayWithinTheirGrowth) {
  for (const double growth : {-1.0, 0.0, 0.1, 0.3, 1e300}) {
    Chains plain(20), kept(20);
    const auto least = AssignMemory(&plain.g.graph);
    const auto report =
        AssignMemory(&kept.g.graph, {.queued = {true, true}, .growth = growth});
    ASSERT_TRUE(least.ok() && report.ok());
    EXPECT_LE(static_cast<double>(report->arenas[0].bytes),
              static_cast<double>(least->arenas[0].bytes) *
                  (1 + std::max(growth, 0.0)));
  }
}

}  // namespace
}  // namespace encore::runtime
