#include "encore/cache/package/loaded.h"

#include <memory>
#include <utility>
#include <vector>

#include "encore/runtime/testing/test_device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

using runtime::SlotRole;
using ::testing::StartsWith;

// y = relu(x), then a step that fails, which the caller calls "loss".
class LoadedTest : public testing::Test {
 protected:
  LoadedTest() {
    runtime::TestGraph test;
    const auto x = test.Tensor(SlotRole::kInput, Shape({2}));
    const auto y = test.Tensor(SlotRole::kOutput, Shape({2}));
    test.Launch("relu", {x}, {y});
    test.Launch("fail", {x}, {y});
    auto& steps = test.graph.plans[test.run.value()].steps;
    steps[0].origins = {0};
    steps[1].origins = {1, 2, 3};
    auto compiled = std::make_shared<Compiled>();
    compiled->executable = *runtime::Executable::Load(
        std::make_shared<runtime::CompiledGraph>(std::move(test.graph)),
        {std::make_shared<runtime::TestDevice>()}, &pool_);
    auto weights = *runtime::Weights::Prepare(compiled->executable, {}, &pool_);
    loaded_ = std::make_shared<const Loaded>(
        std::move(compiled), std::move(weights),
        Loaded::Names{{"x"}, {"y"}, {"first", "loss", "", "loss"}},
        FoundIn::kMemory, &pool_);
  }

  runtime::ThreadPool pool_{1};
  std::shared_ptr<const Loaded> loaded_;
};

TEST_F(LoadedTest, AFaultNamesTheCallersNode) {
  const std::vector<float> x(2);
  for (const bool profiled : {false, true}) {
    const auto replayer = *loaded_->NewReplayer();
    ASSERT_TRUE(replayer->BindInput(0, x.data(), 8).ok());
    runtime::Profiler profiler;
    const Status failed =
        loaded_->Replay(*replayer, profiled ? &profiler : nullptr);
    EXPECT_THAT(Message(failed), StartsWith("node \"loss\": plan 0 step 1"));
    const Status again = loaded_->Replay(*replayer);
    EXPECT_EQ(again.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(again), StartsWith("node \"loss\": an earlier replay"));
  }
  const auto run = loaded_->Run({{Literal::FromValues<float>({2}, {1, 2})}});
  EXPECT_THAT(Message(run.status()), StartsWith("node \"loss\": "));
}

TEST_F(LoadedTest, WhatIsNoFaultOfAStepNamesNone) {
  const auto replayer = *loaded_->NewReplayer();
  EXPECT_THAT(Message(loaded_->Replay(*replayer)),
              StartsWith("replay: input 0 is not bound"));
}

}  // namespace
}  // namespace encore::cache
