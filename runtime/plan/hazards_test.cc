#include "encore/runtime/plan/hazards.h"

#include <algorithm>
#include <vector>

#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

using Steps = std::vector<uint32_t>;

TEST(Hazards, FollowBytesNotSlots) {
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {16});
  const SlotId out = g.Tensor(SlotRole::kOutput, {16});
  const SlotId arena = g.Arena(192);
  const SlotId a = g.Temp({16}), b = g.Temp({16}), c = g.Temp({16});
  const SlotId half = g.Temp({8});
  g.Place(a, arena, 0);
  g.Place(b, arena, 64);
  g.Place(c, arena, 0);  // where a was
  g.Place(half, b, 32);
  g.Add({Allocate{kHostPool, arena, 192}, {}});  // 0
  g.Launch("neg", {x}, {a});                     // 1
  g.Launch("neg", {x}, {b});                     // 2
  g.Launch("neg", {a}, {out});                   // 3
  g.Launch("neg", {half}, {c});                  // 4
  const Places places(g.graph);
  AccessHistory history(g.graph.slots.size());
  std::vector<Steps> after(5);
  for (uint32_t i = 0; i < 5; ++i) {
    ForEachAccess(g.graph, g.graph.plan(g.run).steps[i],
                  [&](SlotId slot, bool is_write) {
                    history.Add({places[slot], i, is_write}, true,
                                [&](uint32_t by) { after[i].push_back(by); });
                  });
    std::ranges::sort(after[i]);
    const auto rest = std::ranges::unique(after[i]);
    after[i].erase(rest.begin(), rest.end());
  }
  EXPECT_EQ(after[1], Steps{0});
  EXPECT_EQ(after[2], Steps{0});
  EXPECT_EQ(after[3], (Steps{0, 1}));
  // Reads what 2 wrote; overwrites what 1 wrote and 3 reads.
  EXPECT_EQ(after[4], (Steps{0, 1, 2, 3}));
}

TEST(Hazards, RunTimeSizesReadTheirSource) {
  TestGraph g;
  const SlotId count = g.Temp({1}, DType::kI64);
  g.graph.symbols.push_back({.upper = 6,
                             .source = SymbolInfo::Source::kSlot,
                             .index = count.value()});
  const SlotId found = g.Temp({Dim::OfSymbol(0)});
  const Step step{Allocate{kHostPool, found, Dim::OfSymbol(0)}, {}};
  std::vector<SlotId> reads;
  ForEachAccess(g.graph, step, [&](SlotId slot, bool is_write) {
    if (!is_write) reads.push_back(slot);
  });
  EXPECT_EQ(reads, std::vector<SlotId>{count});
}

}  // namespace
}  // namespace encore::runtime
