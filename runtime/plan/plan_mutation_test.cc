// Breaks sound plans at random, in thousands of ways: each mutant is rejected
// by the plan verifier or does no harm on shadow memory.
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "encore/runtime/plan/compiled_graph_text.h"
#include "encore/runtime/plan/plan_verifier.h"
#include "encore/runtime/testing/plan_file.h"
#include "encore/runtime/testing/sample_plans.h"
#include "encore/runtime/testing/shadow_executor.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

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

// How many mutants of a plan met which fate.
struct Verdicts {
  int rejected = 0, harmless = 0;
};

void MutateOften(const CompiledGraph& sound, uint32_t seed, int rounds,
                 Verdicts* verdicts) {
  ASSERT_TRUE(VerifyPlan(sound).ok()) << VerifyPlan(sound);
  ASSERT_EQ(FindHarm(sound), "");
  Random random(seed);
  for (int round = 0; round < rounds; ++round) {
    CompiledGraph mutant = sound;
    for (int i = 0; i <= round % 3; ++i) Mutate(&mutant, random);
    if (!VerifyPlan(mutant).ok()) {
      ++verdicts->rejected;
      continue;
    }
    ASSERT_EQ(FindHarm(mutant), "") << "round " << round << "\n"
                                    << CompiledGraphText(mutant);
    ++verdicts->harmless;
  }
}

TEST(PlanMutation, MutantsAreRejectedOrHarmless) {
  Verdicts verdicts;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    MutateOften(RandomPlan(seed), seed, 200, &verdicts);
    if (HasFatalFailure()) return;
  }
  // Both verdicts occur often, so neither side is vacuous.
  EXPECT_GT(verdicts.rejected, 5000);
  EXPECT_GT(verdicts.harmless, 500);
}

TEST(PlanMutation, MutantsOfFilesAreRejectedOrHarmless) {
  for (const std::string& path : PlanFiles("runtime/plan/testdata/seeds")) {
    SCOPED_TRACE(path);
    Verdicts verdicts;
    MutateOften(ReadPlanFile(path), 1, 300, &verdicts);
    if (HasFatalFailure()) return;
    EXPECT_GT(verdicts.rejected, 100);
    EXPECT_GT(verdicts.harmless, 10);
  }
}

// The shadow executor sees harm where it is: a planner's mistake of each kind.
TEST(PlanMutation, ShadowExecutorFindsHarm) {
  int found = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    CompiledGraph graph = RandomPlan(seed);
    for (Slot& slot : graph.slots) {
      if (slot.base.valid() && graph.slot(slot.base).is_arena) slot.offset = 0;
    }
    found += !FindHarm(graph).empty();
  }
  EXPECT_EQ(found, 20);
}

}  // namespace
}  // namespace encore::runtime
