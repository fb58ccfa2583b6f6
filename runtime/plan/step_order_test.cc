#include "encore/runtime/plan/step_order.h"

#include <cstdint>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "encore/runtime/testing/device_plans.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

using Pairs = std::set<std::pair<uint32_t, uint32_t>>;

Pairs PairsOf(const CompiledGraph& graph, const std::vector<bool>& queued) {
  const StepOrder order(graph, graph.run, queued);
  Pairs pairs;
  const auto count = static_cast<uint32_t>(graph.plan(graph.run).steps.size());
  for (uint32_t a = 0; a < count; ++a) {
    for (uint32_t b = 0; b < count; ++b) {
      if (order.Before(a, b)) pairs.emplace(a, b);
    }
  }
  return pairs;
}

TEST(StepOrder, ValuesAndTheHostMakeOrder) {
  TestGraph g(PoolId(1));
  const SlotId in = g.Tensor(SlotRole::kInput, {4});
  const SlotId a = g.Temp({4}), b = g.Temp({4}), c = g.Temp({4});
  g.graph.devices.push_back({"other", 0, PoolId(2)});
  g.graph.pools.push_back({DeviceId(1)});
  for (const SlotId slot : {a, b}) g.graph.slots[slot.value()].pool = PoolId(1);
  g.graph.slots[c.value()].pool = PoolId(2);
  g.Add({Copy{in, a}, {}});      // 0, into the first device
  g.Add({Copy{in, c}, {}});      // 1, into the other
  g.Launch("neg", {a}, {b});     // 2, on the first
  g.Launch("update", {c}, {c});  // 3, on the other
  std::get<Launch>(g.graph.plans[0].steps.back().op).device = DeviceId(1);
  g.Launch("neg", {c}, {c});  // 4, likewise
  std::get<Launch>(g.graph.plans[0].steps.back().op).device = DeviceId(1);
  g.Launch("neg", {b}, {a});  // 5, on the first, once 2 has read it
  Pairs pairs = {{0, 2}, {1, 3}, {1, 4}, {3, 4}, {0, 5}, {2, 5}};
  EXPECT_EQ(PairsOf(g.graph, {true, true}), pairs);
  // The other works when it is called: what the host does there, it does in
  // turn, as values have it anyway.
  EXPECT_EQ(PairsOf(g.graph, {true, false}), pairs);
  // Nothing has queues: one after the other.
  EXPECT_EQ(PairsOf(g.graph, {}).size(), 15u);
}

// Whatever is before is earlier and is before what comes after it.
TEST(StepOrder, IsAnOrder) {
  for (uint32_t seed = 0; seed < 6; ++seed) {
    const CompiledGraph graph = RandomDevicePlan(seed);
    const Pairs pairs = PairsOf(graph, {false, true, true});
    for (const auto& [a, b] : pairs) {
      EXPECT_LT(a, b);
      for (auto it = pairs.lower_bound({b, 0});
           it != pairs.end() && it->first == b; ++it) {
        ASSERT_TRUE(pairs.contains({a, it->second}));
      }
    }
  }
}

}  // namespace
}  // namespace encore::runtime
