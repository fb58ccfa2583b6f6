#include "encore/runtime/plan/step_kinds.h"

#include <vector>

#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

TEST(StepKindsTest, OnlyInvokeHasSubPlans) {
  Invoke invoke;
  invoke.plans = {PlanId(3), PlanId(1)};
  const Step step{invoke, {}};
  const auto plans = SubPlansOf(step);
  EXPECT_EQ(std::vector<PlanId>(plans.begin(), plans.end()),
            (std::vector<PlanId>{PlanId(3), PlanId(1)}));
  for (const Step& other : {Step{Allocate{}, {}}, Step{Copy{}, {}},
                            Step{Launch{}, {}}, Step{Deallocate{}, {}}}) {
    EXPECT_TRUE(SubPlansOf(other).empty());
  }
}

TEST(StepKindsTest, OnlyLaunchIsALaunch) {
  Launch launch;
  launch.binary = KernelBinaryId(5);
  const Step step{launch, {}};
  ASSERT_NE(LaunchOf(step), nullptr);
  EXPECT_EQ(LaunchOf(step)->binary, KernelBinaryId(5));
  for (const Step& other : {Step{Allocate{}, {}}, Step{Copy{}, {}},
                            Step{Deallocate{}, {}}, Step{Invoke{}, {}}}) {
    EXPECT_EQ(LaunchOf(other), nullptr);
  }
}

}  // namespace
}  // namespace encore::runtime
