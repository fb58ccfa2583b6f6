#include "encore/runtime/replay/nvtx.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/testing/deferred_device.h"
#include "encore/runtime/testing/device_plans.h"
#include "encore/runtime/testing/plan_runs.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

constexpr char kTool[] = "runtime/replay/nvtx_tool.so";

class Ranges : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("NVTX_INJECTION64_PATH", kTool, 1);
    ENCORE_CHECK(Nvtx::Attached() != nullptr);
    void* const tool = dlopen(kTool, RTLD_NOW);
    ENCORE_CHECK(tool != nullptr);
    log_ = reinterpret_cast<const char* (*)()>(dlsym(tool, "NvtxToolLog"));
    forget_ = reinterpret_cast<void (*)()>(dlsym(tool, "NvtxToolForget"));
  }
  void SetUp() override { forget_(); }

  // Each range ends within the one that it began in.
  static void ExpectNested() {
    int open = 0;
    for (const std::string_view line : StrSplit(log_(), '\n')) {
      if (line.empty()) continue;
      open += line == "pop" ? -1 : 1;
      EXPECT_GE(open, 0);
    }
    EXPECT_EQ(open, 0) << log_();
  }

  static inline const char* (*log_)() = nullptr;
  static inline void (*forget_)() = nullptr;
  ThreadPool threads_{1};
};

TEST_F(Ranges, AreOfReplaysAndOfSteps) {
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {4});
  const SlotId y = g.Temp({4});
  g.Launch("neg", {x}, {y});
  g.graph.plans[0].steps.back().origins = {3, 5};
  g.Launch("relu", {y}, {g.Tensor(SlotRole::kOutput, {4})});
  ASSERT_TRUE(AssignMemory(&g.graph).ok());
  auto replayer =
      NewReplayer(g.graph, {std::make_shared<TestDevice>()}, &threads_);
  ASSERT_TRUE(replayer.ok()) << replayer.status();
  const float values[4] = {1, 2, 3, 4};
  ASSERT_TRUE((*replayer)->BindInput(0, values, sizeof(values)).ok());
  EXPECT_EQ(std::string(log_()), "");
  ASSERT_TRUE((*replayer)->Replay().ok());
  EXPECT_EQ(std::string(log_()),
            "Encore push replay\nEncore push launch test:neg #3 #5\npop\n"
            "Encore push launch test:relu\npop\npop\n");
}

TEST_F(Ranges, EndWhereAStepFails) {
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {4});
  g.Launch("fail", {x}, {g.Tensor(SlotRole::kOutput, {4})});
  ASSERT_TRUE(AssignMemory(&g.graph).ok());
  auto replayer =
      NewReplayer(g.graph, {std::make_shared<TestDevice>()}, &threads_);
  ASSERT_TRUE(replayer.ok()) << replayer.status();
  const float values[4] = {1, 2, 3, 4};
  ASSERT_TRUE((*replayer)->BindInput(0, values, sizeof(values)).ok());
  EXPECT_FALSE((*replayer)->Replay().ok());
  EXPECT_NE(std::string(log_()), "");
  ExpectNested();
}

// What is recorded is a range as a whole.
TEST_F(Ranges, OfRecordedStepsAndOfControlFlow) {
  bool recorded = false;
  for (uint32_t seed = 0; seed < 8; ++seed) {
    const CompiledGraph graph = RandomDevicePlan(seed);
    Devices devices = {std::make_shared<TestDevice>(kPlanDevices[0])};
    const auto work = NewDeferredWork(seed);
    for (size_t d = 1; d < kPlanDevices.size(); ++d) {
      devices.push_back(std::make_shared<DeferredDevice>(
          std::make_shared<TestDevice>(kPlanDevices[d]), work,
          DeferredOptions{.backend = kPlanDevices[d], .records = true}));
    }
    auto replayer = NewReplayer(graph, devices, &threads_);
    ASSERT_TRUE(replayer.ok()) << replayer.status();
    const PlanInputs inputs(seed);
    ASSERT_TRUE(Bind(inputs, replayer->get()).ok());
    for (int call = 0; call < 3; ++call) {
      ASSERT_TRUE((*replayer)->Replay().ok());
      EXPECT_EQ(OutputsOf(**replayer, graph.outputs.size()),
                Expected(graph, inputs, &threads_));
    }
    recorded |= std::string_view(log_()).find(" launches and copies\npop") !=
                std::string_view::npos;
    ExpectNested();
  }
  EXPECT_TRUE(recorded);
}

}  // namespace
}  // namespace encore::runtime
