#include "encore/runtime/replay/replayer.h"

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/runtime/testing/plan_file.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

using Floats = std::vector<float>;

struct Loaded {
  std::shared_ptr<TestDevice> device;
  std::shared_ptr<const Executable> executable;
  std::shared_ptr<const Weights> weights;
};

class ReplayerTest : public testing::Test {
 protected:
  // The plan testdata/NAME.plan.
  Loaded Load(const std::string& name, std::vector<Blob> parameters = {}) {
    Loaded loaded;
    loaded.device = std::make_shared<TestDevice>();
    auto executable = Executable::Load(
        std::make_shared<CompiledGraph>(
            ReadPlanFile(StrCat("runtime/replay/testdata/", name, ".plan"))),
        {loaded.device}, &pool_);
    EXPECT_TRUE(executable.ok()) << executable.status();
    loaded.executable = *executable;
    auto weights = Weights::Prepare(loaded.executable, parameters, &pool_);
    EXPECT_TRUE(weights.ok()) << weights.status();
    loaded.weights = *weights;
    return loaded;
  }

  std::unique_ptr<Replayer> Make(const Loaded& loaded) {
    auto replayer = Replayer::Create(loaded.executable, loaded.weights, &pool_);
    EXPECT_TRUE(replayer.ok()) << replayer.status();
    return *std::move(replayer);
  }

  static Status Bind(Replayer& replayer, size_t i, const Floats& values,
                     std::vector<int64_t> dims = {}) {
    return replayer.BindInput(i, values.data(), values.size() * sizeof(float),
                              dims);
  }

  static Floats Output(Replayer& replayer, size_t i = 0) {
    const Replayer::Output output = replayer.output(i);
    const auto* data = static_cast<const float*>(output.data);
    return Floats(data, data + output.bytes / sizeof(float));
  }

  ThreadPool pool_{2};
};

TEST_F(ReplayerTest, ReplaysIntoTheCallersMemory) {
  const Loaded loaded = Load("add_relu");
  const auto replayer = Make(loaded);
  const Floats x = {1, -2, 3, -4}, y = {1, 1, -5, 5};
  Floats out(4);
  ASSERT_TRUE(Bind(*replayer, 0, x).ok());
  ASSERT_TRUE(Bind(*replayer, 1, y).ok());
  ASSERT_TRUE(replayer->BindOutput(0, out.data(), 16).ok());
  ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(out, (Floats{2, 0, 0, 1}));
  // Without a buffer of the caller's, the output is the replayer's.
  ASSERT_TRUE(replayer->BindOutput(0, nullptr, 0).ok());
  ASSERT_TRUE(Bind(*replayer, 1, x).ok());
  ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(Output(*replayer), (Floats{2, 0, 6, 0}));
  EXPECT_EQ(out, (Floats{2, 0, 0, 1}));
}

TEST_F(ReplayerTest, RefusesBuffersThatDoNotFit) {
  const Loaded loaded = Load("add_relu");
  const auto replayer = Make(loaded);
  alignas(64) float x[8] = {};
  const std::vector<int64_t> wrong = {2, 2};
  EXPECT_EQ(replayer->BindInput(2, x, 16).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(replayer->BindInput(0, x, 12).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(replayer->BindInput(0, x, 16, wrong).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(replayer->BindInput(0, reinterpret_cast<char*>(x) + 2, 16).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(replayer->BindInput(0, nullptr, 16).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(replayer->BindOutput(0, x, 12).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(replayer->BindInput(0, x, 16).ok());
  ASSERT_TRUE(replayer->BindInput(1, x, 16).ok());
  ASSERT_TRUE(replayer->BindOutput(0, x + 2, 16).ok());
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(replayer->BindOutput(0, x + 4, 16).ok());
  EXPECT_TRUE(replayer->Replay().ok());
}

TEST_F(ReplayerTest, ConstantsParametersAndDerivedWeights) {
  const Floats weights = {3, 4};
  const Loaded loaded =
      Load("derived_weights", {Blob::Copy(std::as_bytes(std::span(weights)))});
  const auto replayer = Make(loaded);
  const Floats value = {1, 2};
  ASSERT_TRUE(Bind(*replayer, 0, value).ok());
  ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(Output(*replayer), (Floats{31, 82}));

  const auto derived = loaded.weights->DerivedBytes(0);
  ASSERT_TRUE(derived.ok());
  const Blob stored = Blob::Copy(derived->bytes);
  const auto restored = Weights::Restore(
      loaded.executable,
      std::vector<Blob>{Blob::Copy(std::as_bytes(std::span(weights)))},
      std::vector<Blob>{stored});
  ASSERT_TRUE(restored.ok()) << restored.status();
  const auto again = *Replayer::Create(loaded.executable, *restored, &pool_);
  ASSERT_TRUE(Bind(*again, 0, value).ok());
  ASSERT_TRUE(again->Replay().ok());
  EXPECT_EQ(Output(*again), (Floats{31, 82}));
  EXPECT_FALSE(Weights::Restore(loaded.executable, {}, {}).ok());
}

TEST_F(ReplayerTest, SymbolicSizesFollowTheInputs) {
  const Loaded loaded = Load("symbolic_sizes");
  const auto replayer = Make(loaded);
  for (const int64_t size : {3, 8, 1, 3}) {
    const Floats a(size, 2), b(size, 3);
    ASSERT_TRUE(Bind(*replayer, 0, a, {size}).ok());
    ASSERT_TRUE(Bind(*replayer, 1, b, {size}).ok());
    ASSERT_TRUE(replayer->Replay().ok());
    EXPECT_EQ(Output(*replayer), Floats(size, -5));
    EXPECT_EQ(replayer->output(0).dims[0], size);
  }
  const Floats a(4, 2), nine(9, 1);
  ASSERT_TRUE(Bind(*replayer, 0, a, {4}).ok());
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(Bind(*replayer, 0, nine, {9}).ok());
  ASSERT_TRUE(Bind(*replayer, 1, nine, {9}).ok());
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(Bind(*replayer, 0, a, {4}).ok());
  ASSERT_TRUE(Bind(*replayer, 1, a, {4}).ok());
  EXPECT_TRUE(replayer->Replay().ok());
}

TEST_F(ReplayerTest, RunTimeSizesComeFromAWarmPool) {
  const Loaded loaded = Load("non_zero");
  const auto replayer = Make(loaded);
  for (const Floats& x : {Floats{0, 1, 0, 2, 3, 0}, Floats{0, 0, 0, 0, 0, 0},
                          Floats{1, 2, 3, 4, 5, 6}, Floats{0, 0, 9, 0, 0, 0}}) {
    ASSERT_TRUE(Bind(*replayer, 0, x).ok());
    ASSERT_TRUE(replayer->Replay().ok());
    Floats expected;
    for (const float v : x) {
      if (v != 0) expected.push_back(-v);
    }
    EXPECT_EQ(Output(*replayer), expected);
    EXPECT_LE(replayer->warm_pool_misses(), 2);
  }
  Floats small(2);
  const Floats x = {1, 2, 3, 0, 0, 0};
  ASSERT_TRUE(Bind(*replayer, 0, x).ok());
  ASSERT_TRUE(replayer->BindOutput(0, small.data(), 8).ok());
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kInvalidArgument);
}

TEST_F(ReplayerTest, IfRunsTheSelectedPlan) {
  const Loaded loaded = Load("if");
  const auto replayer = Make(loaded);
  const Floats value = {1, 2};
  int32_t condition = 0;
  ASSERT_TRUE(replayer->BindInput(0, &condition, 4).ok());
  ASSERT_TRUE(Bind(*replayer, 1, value).ok());
  ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(Output(*replayer), (Floats{-1, -2}));
  condition = 1;
  ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(Output(*replayer), value);
  condition = 2;
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kOutOfRange);
  // A fault poisons this replayer, and only this one.
  condition = 1;
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kFailedPrecondition);
  const auto other = Make(loaded);
  ASSERT_TRUE(other->BindInput(0, &condition, 4).ok());
  ASSERT_TRUE(Bind(*other, 1, value).ok());
  EXPECT_TRUE(other->Replay().ok());
}

TEST_F(ReplayerTest, WhileCarriesItsState) {
  const Loaded loaded = Load("doubling");
  const auto replayer = Make(loaded);
  const Floats x = {1, 3};
  const int64_t zero = 0;
  for (const int64_t limit : {0, 1, 5}) {
    ASSERT_TRUE(replayer->BindInput(0, &limit, 8).ok());
    ASSERT_TRUE(Bind(*replayer, 1, x).ok());
    ASSERT_TRUE(replayer->BindInput(2, &zero, 8).ok());
    ASSERT_TRUE(replayer->Replay().ok());
    const float factor = 1 << limit;
    EXPECT_EQ(Output(*replayer), (Floats{factor, 3 * factor}));
  }
}

TEST_F(ReplayerTest, ScanWalksItsTensors) {
  const Floats x = {1, 2, 10, 20, 100, 200};
  const auto forward = Make(Load("running_sum"));
  ASSERT_TRUE(Bind(*forward, 0, x, {3, 2}).ok());
  ASSERT_TRUE(forward->Replay().ok());
  EXPECT_EQ(Output(*forward), (Floats{1, 2, 11, 22, 111, 222}));
  // No trips: there is no element to be anywhere.
  ASSERT_TRUE(Bind(*forward, 0, {}, {0, 2}).ok());
  ASSERT_TRUE(forward->Replay().ok());
  EXPECT_EQ(Output(*forward), Floats());
  const auto backward = Make(Load("running_sum_reversed"));
  ASSERT_TRUE(Bind(*backward, 0, x, {3, 2}).ok());
  ASSERT_TRUE(backward->Replay().ok());
  EXPECT_EQ(Output(*backward), (Floats{111, 222, 110, 220, 100, 200}));
}

TEST_F(ReplayerTest, CopiesBetweenPools) {
  const Floats weights = {1, 2}, value = {10, 20};
  std::shared_ptr<TestDevice> device;
  {
    const Loaded loaded = Load("copies_between_pools",
                               {Blob::Copy(std::as_bytes(std::span(weights)))});
    device = loaded.device;
    const auto replayer = Make(loaded);
    ASSERT_TRUE(Bind(*replayer, 0, value).ok());
    ASSERT_TRUE(replayer->Replay().ok());
    EXPECT_EQ(Output(*replayer), (Floats{55, 132}));
    const auto derived = loaded.weights->DerivedBytes(0);
    ASSERT_TRUE(derived.ok());
    const auto* floats = reinterpret_cast<const float*>(derived->bytes.data());
    EXPECT_EQ(Floats(floats, floats + 2), weights);
    EXPECT_EQ(device->live_blocks(), 5);
  }
  EXPECT_EQ(device->live_blocks(), 0);
}

TEST_F(ReplayerTest, HostObjects) {
  const auto replayer = Make(Load("strings"));
  const HostObject x{{Literal::Strings({2}, {"a", "b"})}};
  const HostObject y{{Literal::Strings({2}, {"1", "2"})}};
  ASSERT_TRUE(replayer->BindInput(0, &x).ok());
  ASSERT_TRUE(replayer->BindInput(1, &y).ok());
  EXPECT_FALSE(replayer->BindInput(1, "", 0).ok());
  EXPECT_FALSE(replayer->BindOutput(0, nullptr, 0).ok());
  ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(replayer->output(0).object->value.strings(),
            (std::vector<std::string>{"a1", "b2"}));
}

TEST_F(ReplayerTest, ManyReplaysAtOnce) {
  const Loaded loaded = Load("parallel");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const auto replayer = Make(loaded);
      for (int round = 0; round < 50; ++round) {
        const Floats value(1000, thread * 100 + round);
        Floats result(1000);
        ASSERT_TRUE(Bind(*replayer, 0, value).ok());
        ASSERT_TRUE(replayer->BindOutput(0, result.data(), 4000).ok());
        ASSERT_TRUE(replayer->Replay().ok());
        EXPECT_EQ(result, Floats(1000, -value[0]));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ReplayerTest, ProfilesNamesAndTimes) {
  const Loaded loaded = Load("add_relu");
  const auto replayer = Make(loaded);
  const Floats x = {1, 2, 3, 4};
  ASSERT_TRUE(Bind(*replayer, 0, x).ok());
  ASSERT_TRUE(Bind(*replayer, 1, x).ok());
  Profiler profiler(5);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(replayer->Replay(&profiler).ok());
  EXPECT_EQ(profiler.records().size(), 5u);
  EXPECT_EQ(profiler.dropped(), 1);
  EXPECT_EQ(profiler.records()[0].step, 1u);
  EXPECT_EQ(profiler.Totals().size(), 2u);
  const std::string trace = profiler.ChromeTrace(loaded.executable->graph());
  EXPECT_NE(trace.find("\"name\":\"launch test:add\""), std::string::npos);
}

// Means are over what they are of: a device may have timed some runs only.
TEST(ProfilerTest, MeansOfRunsThatADeviceTimed) {
  Profiler profiler;
  profiler.StartReplay();
  const Profiler::Work timed{PlanId(0), 0}, host{PlanId(0), 1};
  profiler.Add(timed, 0, 100, 40);
  profiler.Add(timed, 100, 400, 0);
  profiler.Add(timed, 400, 600);
  profiler.Add(host, 600, 700);
  const auto totals = profiler.Totals();
  ASSERT_EQ(totals.size(), 2u);
  EXPECT_EQ(totals[0].mean_ns(), 200.0);
  EXPECT_EQ(totals[0].device_runs, 2);
  EXPECT_EQ(totals[0].device_mean_ns(), 20.0);
  EXPECT_EQ(totals[1].mean_ns(), 100.0);
  EXPECT_EQ(totals[1].device_mean_ns(), std::nullopt);
}

}  // namespace
}  // namespace encore::runtime
