// Breaks sound plans at random, in thousands of ways: each mutant is rejected
// by the plan verifier or does no harm on shadow memory.
#include <string>

#include "encore/runtime/plan/compiled_graph_text.h"
#include "encore/runtime/plan/plan_verifier.h"
#include "encore/runtime/testing/plan_file.h"
#include "encore/runtime/testing/plan_mutations.h"
#include "encore/runtime/testing/sample_plans.h"
#include "encore/runtime/testing/shadow_executor.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

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
    for (int i = 0; i <= round % 3; ++i) MutatePlan(&mutant, random);
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
