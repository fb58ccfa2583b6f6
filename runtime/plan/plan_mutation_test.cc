// Breaks sound plans at random, in thousands of ways: each mutant is rejected
// by the plan verifier or does no harm on shadow memory.
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/plan/plan_verifier.h"
#include "encore/runtime/testing/shadow_executor.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

using Random = std::mt19937;

template <typename T>
T& Pick(std::vector<T>& list, Random& random) {
  return list[random() % list.size()];
}

// An If both of whose branches write one slot, which is returned.
SlotId AddIf(TestGraph& g, std::vector<SlotId>& values, Random& random) {
  const SlotId chosen = g.Temp({16}), condition = g.Temp({}, DType::kBool);
  g.Launch("copy", {Pick(values, random)}, {condition});
  Invoke branch;
  branch.plans = {AddPlan(&g.graph, {}), AddPlan(&g.graph, {})};
  branch.selector = condition;
  branch.writes = {chosen};
  for (const PlanId plan : branch.plans) {
    const SlotId in = Pick(values, random), inner = g.Temp({16});
    branch.reads.push_back(in);
    g.Launch("neg", {in}, {inner}, {}, plan);
    g.Launch("neg", {inner}, {chosen}, {}, plan);
  }
  g.Add({branch, {}});
  return chosen;
}

// A While; returns its state.
SlotId AddWhile(TestGraph& g, std::vector<SlotId>& values, Random& random) {
  const SlotId state = g.Temp({16}), next = g.Temp({16});
  const SlotId more = g.Temp({}, DType::kBool), fixed = Pick(values, random);
  g.Add({Copy{Pick(values, random), state}, {}});
  Invoke loop;
  loop.kind = InvokeKind::kWhile;
  loop.plans = {AddPlan(&g.graph, {}), AddPlan(&g.graph, {})};
  loop.selector = more;
  loop.carried = {{state, next}};
  loop.reads = {state, fixed};
  loop.writes = {state};
  g.Launch("copy", {state}, {more}, {}, loop.plans[0]);
  g.Launch("add", {state, fixed}, {next}, {}, loop.plans[1]);
  g.Add({loop, {}});
  return state;
}

// A Scan over the quarters of one tensor into another, a view of a half, the
// output.
void AddScanAndOutput(TestGraph& g, std::vector<SlotId>& values,
                      Random& random) {
  const SlotId whole = Pick(values, random), gathered = g.Temp({16});
  const SlotId part = g.Temp({4}), result = g.Temp({4}), half = g.Temp({8});
  const SlotId kept = g.Temp({16}), out = g.Tensor(SlotRole::kOutput, {16});
  g.Place(part, whole, 0);
  g.Place(result, gathered, 0);
  g.Place(half, kept, 32);
  Invoke scan;
  scan.kind = InvokeKind::kScan;
  scan.plans = {AddPlan(&g.graph, {})};
  scan.trips = 4;
  scan.scanned = {{whole, part, false}, {gathered, result, true}};
  scan.reads = {whole};
  scan.writes = {gathered};
  g.Launch("neg", {part}, {result}, {}, scan.plans[0]);
  g.Add({scan, {}});
  values.push_back(gathered);
  g.Launch("neg", {gathered}, {kept});
  const SlotId tail = g.Temp({8});
  g.Launch("neg", {half}, {tail});
  g.Launch("add", {tail, Pick(values, random)}, {out});
}

// Tensors as long as a step finds, in memory of their own or in the arena, and
// host objects.
void AddRunTimeSizes(TestGraph& g, std::vector<SlotId>& values,
                     Random& random) {
  const SlotId count = g.Temp({1}, DType::kI64);
  g.graph.symbols.push_back({.lower = 1,
                             .upper = random() % 2 ? 16 : INT64_MAX,
                             .source = SymbolInfo::Source::kSlot,
                             .index = count.value()});
  const Dim n = Dim::OfSymbol(0);
  const SlotId found = g.Temp({n}), twice = g.Temp({n});
  const SlotId sum = g.Temp({16});
  g.Launch("count", {Pick(values, random)}, {count});
  g.Launch("compact", {Pick(values, random)}, {found}, {n});
  g.Launch("neg", {found}, {twice});
  g.Launch("add", {found, twice}, {sum});
  values.push_back(sum);
  const SlotId text = g.Tensor(SlotRole::kInput, {}, DType::kString);
  const SlotId joined = g.Temp({}, DType::kString);
  const SlotId copied = g.Temp({}, DType::kString);
  g.Launch("concat_strings", {text, text}, {joined});
  g.Add({Copy{joined, copied}, {}});
  g.Launch("concat_strings", {copied, text},
           {g.Tensor(SlotRole::kOutput, {}, DType::kString)});
}

// A sound graph with every kind of step and slot.
CompiledGraph RandomGraph(uint32_t seed) {
  Random random(seed);
  TestGraph g;
  std::vector<SlotId> values = {g.Tensor(SlotRole::kInput, {16}),
                                g.Tensor(SlotRole::kInput, {16}),
                                g.Constant(std::vector<float>(16, 1))};
  const SlotId w = g.Tensor(SlotRole::kParameter, {16});
  const SlotId packed = g.Tensor(SlotRole::kDerived, {16});
  g.graph.prepare = AddPlan(&g.graph, {});
  const SlotId folded = g.Temp({16});
  g.Launch("neg", {w}, {folded}, {}, g.graph.prepare);
  g.Launch("neg", {folded}, {packed}, {}, g.graph.prepare);
  values.push_back(packed);
  const auto some = [&](PlanId plan, int count) {
    for (int i = 0; i < count; ++i) {
      const SlotId out = g.Temp({16});
      if (random() % 3 == 0) {
        g.Launch("neg", {Pick(values, random)}, {out}, {}, plan);
        auto& step = g.graph.plans[plan.value()].steps.back();
        if (random() % 2 == 0) std::get<Launch>(step.op).in_place = {{0, 0}};
      } else if (random() % 5 == 0) {
        g.Add({Copy{Pick(values, random), out}, {}}, plan);
      } else {
        g.Launch("add", {Pick(values, random), Pick(values, random)}, {out}, {},
                 plan);
      }
      values.push_back(out);
    }
  };
  some(g.run, 4);
  values.push_back(AddIf(g, values, random));
  some(g.run, 2);
  values.push_back(AddWhile(g, values, random));
  some(g.run, 2);
  AddRunTimeSizes(g, values, random);
  AddScanAndOutput(g, values, random);
  EXPECT_TRUE(AssignMemory(&g.graph).ok());
  return g.graph;
}

// Moves one slot id of the step to a random one.
void ChangeOperand(Step& step, SlotId slot, Random& random) {
  if (auto* launch = std::get_if<Launch>(&step.op)) {
    std::vector<SlotId>& list =
        launch->reads.empty() || random() % 2 ? launch->writes : launch->reads;
    if (!list.empty()) Pick(list, random) = slot;
  } else if (auto* copy = std::get_if<Copy>(&step.op)) {
    (random() % 2 ? copy->src : copy->dst) = slot;
  } else if (auto* allocate = std::get_if<Allocate>(&step.op)) {
    allocate->slot = slot;
  } else if (auto* deallocate = std::get_if<Deallocate>(&step.op)) {
    deallocate->slot = slot;
  } else if (auto* invoke = std::get_if<Invoke>(&step.op)) {
    if (!invoke->carried.empty()) Pick(invoke->carried, random).next = slot;
    if (!invoke->scanned.empty()) Pick(invoke->scanned, random).stacked = slot;
    if (invoke->kind == InvokeKind::kIf) invoke->selector = slot;
  }
}

void Mutate(CompiledGraph* graph, Random& random) {
  std::vector<Step>& steps = Pick(graph->plans, random).steps;
  Slot& slot = Pick(graph->slots, random);
  const SlotId any(random() % graph->slots.size());
  if (steps.empty()) return;
  const size_t at = random() % steps.size(), other = random() % steps.size();
  switch (random() % 9) {
    case 0:
      steps.erase(steps.begin() + at);
      break;
    case 1:
      std::swap(steps[at], steps[other]);
      break;
    case 2: {
      const Step copy = steps[at];
      if (!std::holds_alternative<Invoke>(copy.op)) {
        steps.insert(steps.begin() + other, copy);
      }
      break;
    }
    case 3:
    case 4:
      slot.offset = Dim(static_cast<int64_t>(random() % 12) * 32);
      break;
    case 5:
      slot.bytes = Dim(static_cast<int64_t>(random() % 40) * 4);
      break;
    case 6:
      slot.base = any;
      break;
    case 7:
      if (auto* launch = std::get_if<Launch>(&steps[at].op)) {
        launch->in_place = {{0, 0}};
        break;
      }
      [[fallthrough]];
    default:
      ChangeOperand(steps[at], any, random);
  }
}

TEST(PlanMutation, MutantsAreRejectedOrHarmless) {
  int rejected = 0, harmless = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const CompiledGraph sound = RandomGraph(seed);
    ASSERT_TRUE(VerifyPlan(sound).ok()) << seed << VerifyPlan(sound);
    ASSERT_EQ(FindHarm(sound), "") << seed;
    Random random(seed);
    for (int round = 0; round < 200; ++round) {
      CompiledGraph mutant = sound;
      for (int i = 0; i <= round % 3; ++i) Mutate(&mutant, random);
      if (!VerifyPlan(mutant).ok()) {
        ++rejected;
        continue;
      }
      ASSERT_EQ(FindHarm(mutant), "") << "seed " << seed << " round " << round;
      ++harmless;
    }
  }
  // Both verdicts occur often, so neither side is vacuous.
  EXPECT_GT(rejected, 5000);
  EXPECT_GT(harmless, 500);
}

// The shadow executor sees harm where it is: a planner's mistake of each kind.
TEST(PlanMutation, ShadowExecutorFindsHarm) {
  int found = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    CompiledGraph graph = RandomGraph(seed);
    for (Slot& slot : graph.slots) {
      if (slot.base.valid() && graph.slot(slot.base).is_arena) slot.offset = 0;
    }
    found += !FindHarm(graph).empty();
  }
  EXPECT_EQ(found, 20);
}

}  // namespace
}  // namespace encore::runtime
