#include "encore/runtime/plan/hazards.h"

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
  const auto dependencies = StepDependencies(g.graph, g.run);
  EXPECT_EQ(dependencies[1], Steps{0});
  EXPECT_EQ(dependencies[2], Steps{0});
  EXPECT_EQ(dependencies[3], (Steps{0, 1}));
  // Reads what 2 wrote; overwrites what 1 wrote and 3 reads.
  EXPECT_EQ(dependencies[4], (Steps{0, 1, 2, 3}));
}

TEST(Hazards, RunTimeSizesReadTheirSource) {
  TestGraph g;
  const SlotId count = g.Temp({1}, DType::kI64);
  g.graph.symbols.push_back({.upper = 6,
                             .source = SymbolInfo::Source::kSlot,
                             .index = count.value()});
  const SlotId found = g.Temp({Dim::OfSymbol(0)});
  const Step step{Allocate{kHostPool, found, Dim::OfSymbol(0)}, {}};
  EXPECT_EQ(AccessOf(g.graph, step).reads, std::vector<SlotId>{count});
}

}  // namespace
}  // namespace encore::runtime
