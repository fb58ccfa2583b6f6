// What a recorded replay costs in calls of the driver, what is changed in a
// recording and when, and what its faults say.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cuda/device.h"
#include "encore/backends/cuda/driver/driver.h"
#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/fake/fake_driver.h"
#include "encore/backends/cuda/testing/plan_device.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dim.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/profiler.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/replay/weights.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

using fake::FakeDriver;
using runtime::DeviceId;
using runtime::PoolId;
using runtime::Replayer;
using runtime::SlotId;
using runtime::SlotRole;
using runtime::TestGraph;
using runtime::ThreadPool;

constexpr PoolId kPool(1);

// out = (x + y) + -x + -y, two branches of which may run beside each other, in
// memory of the device; of n elements, or of 16.
TestGraph TwoBranches(bool symbolic) {
  TestGraph g(kPool);
  const Dim n = symbolic ? Dim::OfSymbol(0) : Dim(16);
  if (symbolic) g.graph.symbols.push_back({.lower = 0, .upper = 1000});
  const SlotId x = g.Tensor(SlotRole::kInput, {n});
  const SlotId y = g.Tensor(SlotRole::kInput, {n});
  const SlotId sum = g.Temp({n}), minus_x = g.Temp({n});
  const SlotId minus_y = g.Temp({n}), both = g.Temp({n});
  const SlotId copied = g.Temp({n});
  const SlotId out = g.Tensor(SlotRole::kOutput, {n});
  g.Launch("add", {x, y}, {sum});
  g.Launch("neg", {x}, {minus_x});
  g.Launch("neg", {y}, {minus_y});
  g.Launch("add", {minus_x, minus_y}, {both});
  g.Add({runtime::Copy{both, copied}, {}});
  g.Launch("add", {sum, copied}, {out});
  for (runtime::Slot& slot : g.graph.slots) slot.pool = kPool;
  ENCORE_CHECK_OK(runtime::AssignMemory(&g.graph, {.queued = {true}}).status());
  return g;
}

class Recordings : public testing::Test {
 protected:
  Recordings() : fake_(FakeDriver::New({.seed = 5})) {
    auto device = NewPlanDevice(fake_->driver(), 0, "test");
    ENCORE_CHECK_OK(device.status());
    device_ = *std::move(device);
  }

  std::unique_ptr<Replayer> Load(TestGraph g) {
    auto executable = runtime::Executable::Load(
        std::make_shared<runtime::CompiledGraph>(std::move(g.graph)), {device_},
        &threads_);
    ENCORE_CHECK_OK(executable.status());
    auto weights = runtime::Weights::Prepare(*executable, {}, &threads_);
    ENCORE_CHECK_OK(weights.status());
    auto replayer = Replayer::Create(*executable, *weights, &threads_);
    ENCORE_CHECK_OK(replayer.status());
    return *std::move(replayer);
  }

  // `count` elements on the device, from `first` on.
  float* Values(int64_t count, float first) {
    std::vector<float> values(static_cast<size_t>(std::max<int64_t>(count, 1)));
    for (float& value : values) value = first++;
    float* const data = static_cast<float*>(*device_->Allocate(4 * count));
    blocks_.emplace_back(data, 4 * count);
    if (count > 0) {
      ENCORE_CHECK_OK(
          device_->CopyFromHost(data, values.data(), 4 * count, nullptr));
    }
    return data;
  }
  std::vector<float> Read(const void* data, int64_t count) {
    std::vector<float> values(static_cast<size_t>(count), -1);
    if (count > 0) {
      ENCORE_CHECK_OK(
          device_->CopyToHost(values.data(), data, 4 * count, nullptr));
    }
    return values;
  }
  // Calls of the driver that `work` makes, without those of the current
  // context.
  template <typename Work>
  std::vector<std::string> CallsOf(const Work& work) {
    const size_t before = fake_->log().size();
    ENCORE_CHECK(before < 900);  // so that none is forgotten
    work();
    std::vector<std::string> calls = fake_->log();
    calls.erase(calls.begin(), calls.begin() + before);
    std::erase_if(calls, [](const std::string& call) {
      return call.starts_with("cuCtx");
    });
    return calls;
  }

  ~Recordings() override {
    for (const auto& [data, bytes] : blocks_) {
      device_->Deallocate(data, bytes);
    }
    device_ = nullptr;
    EXPECT_EQ(fake_->leaks(), std::vector<std::string>());
  }

  const std::shared_ptr<FakeDriver> fake_;
  std::shared_ptr<runtime::Device> device_;
  ThreadPool threads_{1};
  std::vector<std::pair<float*, int64_t>> blocks_;
};

TEST_F(Recordings, AReplayIsOneLaunchAndAWait) {
  const auto replayer = Load(TwoBranches(false));
  ASSERT_TRUE(replayer->BindInput(0, Values(16, 1), 64).ok());
  ASSERT_TRUE(replayer->BindInput(1, Values(16, 5), 64).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(replayer->recordings().recorded, 1);
  EXPECT_EQ(
      CallsOf([&] { EXPECT_TRUE(replayer->Replay().ok()); }),
      (std::vector<std::string>{"cuGraphLaunch 0", "cuStreamSynchronize 0"}));
  EXPECT_EQ(Read(replayer->output(0).data, 16), std::vector<float>(16, 0));
}

TEST_F(Recordings, AnEnqueuedReplayIsOneLaunchAndAnEvent) {
  const auto replayer = Load(TwoBranches(false));
  ASSERT_TRUE(replayer->BindInput(0, Values(16, 1), 64).ok());
  ASSERT_TRUE(replayer->BindInput(1, Values(16, 5), 64).ok());
  const auto caller = *device_->NewQueue(), other = *device_->NewQueue();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(replayer->Enqueue(DeviceId(0), i == 1 ? *other : *caller).ok());
  }
  EXPECT_EQ(CallsOf([&] {
              EXPECT_TRUE(replayer->Enqueue(DeviceId(0), *caller).ok());
            }),
            (std::vector<std::string>{"cuGraphLaunch 0", "cuEventRecord 0"}));
  // What comes behind in the caller's queue comes after.
  float y[16];
  ASSERT_TRUE(
      device_->CopyToHost(y, replayer->output(0).data, 64, caller.get()).ok());
  ASSERT_TRUE(caller->Synchronize().ok());
  EXPECT_EQ(std::vector<float>(y, y + 16), std::vector<float>(16, 0));
  EXPECT_TRUE(replayer->Synchronize().ok());
  EXPECT_TRUE(replayer->Replay().ok());
  EXPECT_TRUE(other->Synchronize().ok());
}

// Of somebody who has the context and a stream, and knows no queue.
TEST_F(Recordings, AStreamOfTheCallersIsAQueue) {
  const auto driver = fake_->driver();
  const auto device = *NewDevice(driver, 0, "cuda");
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  const DriverTable& api = driver->api;
  ASSERT_EQ(api.cuDevicePrimaryCtxRetain(&context, 0), Result::kSuccess);
  ASSERT_EQ(api.cuCtxSetCurrent(context), Result::kSuccess);
  ASSERT_EQ(api.cuStreamCreate(&stream, kStreamNonBlocking), Result::kSuccess);
  {
    const auto queue = QueueOf(*device, stream);
    ASSERT_TRUE(queue.ok()) << queue.status();
    TestGraph g(kPool);
    const SlotId x = g.Tensor(SlotRole::kInput, {16});
    const SlotId minus = g.Temp({16});
    g.Launch("neg", {x}, {minus});
    g.Launch("neg", {minus}, {g.Tensor(SlotRole::kOutput, {16})});
    for (runtime::Slot& slot : g.graph.slots) slot.pool = kPool;
    ENCORE_CHECK_OK(
        runtime::AssignMemory(&g.graph, {.queued = {true}}).status());
    const auto replayer = Load(std::move(g));
    std::vector<float> y(16), result(16, -1);
    float* const in = Values(16, 9);
    float* const out = Values(16, 3);
    ASSERT_TRUE(replayer->BindInput(0, in, 64).ok());
    ASSERT_TRUE(replayer->BindOutput(0, out, 64).ok());
    for (int i = 0; i < 3; ++i) {
      // The caller's own work before and behind.
      y.assign(16, static_cast<float>(i + 5));
      ASSERT_EQ(api.cuMemcpyHtoDAsync(reinterpret_cast<DevicePointer>(in),
                                      y.data(), 64, stream),
                Result::kSuccess);
      ASSERT_TRUE(replayer->Enqueue(DeviceId(0), **queue).ok());
      ASSERT_EQ(
          api.cuMemcpyDtoHAsync(
              result.data(), reinterpret_cast<DevicePointer>(out), 64, stream),
          Result::kSuccess);
      ASSERT_EQ(api.cuStreamSynchronize(stream), Result::kSuccess);
      EXPECT_EQ(result, y);
    }
    EXPECT_TRUE((*queue)->Synchronize().ok());
    // What was current stays so.
    CUcontext current = nullptr;
    ASSERT_EQ(api.cuCtxGetCurrent(&current), Result::kSuccess);
    EXPECT_EQ(current, context);
  }
  EXPECT_FALSE(QueueOf(*std::make_unique<runtime::TestDevice>(), stream).ok());
  EXPECT_EQ(api.cuStreamDestroy(stream), Result::kSuccess);
  EXPECT_EQ(api.cuCtxSetCurrent(nullptr), Result::kSuccess);
  EXPECT_EQ(api.cuDevicePrimaryCtxRelease(0), Result::kSuccess);
}

TEST_F(Recordings, OnlyWhatUsesAnotherAddressIsChanged) {
  const auto replayer = Load(TwoBranches(false));
  const float* const x = Values(16, 1);
  const float* const y = Values(16, 5);
  ASSERT_TRUE(replayer->BindInput(0, x, 64).ok());
  ASSERT_TRUE(replayer->BindInput(1, y, 64).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(replayer->recordings().changed, 0);
  // The same again.
  ASSERT_TRUE(replayer->BindInput(0, x, 64).ok());
  ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(replayer->recordings().changed, 0);
  // x is read by two kernels, the output written by one.
  ASSERT_TRUE(replayer->BindInput(0, Values(16, 2), 64).ok());
  ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(replayer->recordings().changed, 2);
  float* const out = Values(16, 9);
  ASSERT_TRUE(replayer->BindOutput(0, out, 64).ok());
  const auto calls = CallsOf([&] { ASSERT_TRUE(replayer->Replay().ok()); });
  EXPECT_EQ(std::ranges::count(calls, "cuGraphExecKernelNodeSetParams 0"), 1);
  EXPECT_EQ(replayer->recordings().changed, 3);
  EXPECT_EQ(replayer->recordings().recorded, 1);
  EXPECT_EQ(Read(out, 16), std::vector<float>(16, 0));
}

// A recording for each of the last sizes; those of others are changed, and
// recorded anew where a copy of nothing has no node.
TEST_F(Recordings, OfSizesAreBounded) {
  const auto replayer = Load(TwoBranches(true));
  const std::vector<int64_t> sizes = {16, 16, 100, 7, 5, 0,  300, 2,
                                      0,  1,  300, 2, 0, 16, 16};
  int64_t most = 0;
  for (const int64_t n : sizes) {
    SCOPED_TRACE(n);
    const std::vector<int64_t> dims = {n};
    ASSERT_TRUE(replayer->BindInput(0, Values(n, 3), 4 * n, dims).ok());
    ASSERT_TRUE(replayer->BindInput(1, Values(n, 8), 4 * n, dims).ok());
    const Status status = replayer->Replay();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(Read(replayer->output(0).data, n), std::vector<float>(n, 0));
    most = std::max(most, replayer->recordings().kept);
  }
  EXPECT_EQ(most, 4);
  EXPECT_EQ(replayer->recordings().runs,
            static_cast<int64_t>(sizes.size()) - 1);
  EXPECT_GT(replayer->recordings().changed, 0);
  EXPECT_GT(replayer->recordings().recorded, 4);
  EXPECT_LT(replayer->recordings().recorded, 9);
}

TEST_F(Recordings, FaultsNameTheirStep) {
  TestGraph g(kPool);
  const SlotId x = g.Tensor(SlotRole::kInput, {16});
  const SlotId same = g.Temp({16});
  const SlotId out = g.Tensor(SlotRole::kOutput, {16});
  g.Launch("checked", {x}, {same});
  g.Launch("neg", {same}, {out});
  g.graph.plans[0].steps[0].origins = {1, 2, 3, 4, 5, 6, 7, 42};
  for (runtime::Slot& slot : g.graph.slots) slot.pool = kPool;
  ASSERT_TRUE(runtime::AssignMemory(&g.graph, {.queued = {true}}).ok());
  const TestGraph& made = g;
  const auto replayer = Load(made);
  const auto other = Load(made);
  const auto caller = *device_->NewQueue();
  for (Replayer* one : {replayer.get(), other.get()}) {
    ASSERT_TRUE(one->BindInput(0, Values(16, 1), 64).ok());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(one->Replay().ok());
  }
  ASSERT_TRUE(replayer->BindInput(0, Values(16, -3), 64).ok());
  const Status status = replayer->Replay();
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange) << status;
  EXPECT_NE(Message(status).find("step 1 (launch"), std::string::npos)
      << status;
  EXPECT_EQ(replayer->failed_origin(), 42u);
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(other->Replay().ok());
  EXPECT_EQ(replayer->recordings().runs, 3);
  // Enqueued, it is seen where it is waited for.
  ASSERT_TRUE(other->BindInput(0, Values(16, -3), 64).ok());
  ASSERT_TRUE(other->Enqueue(DeviceId(0), *caller).ok());
  EXPECT_EQ(caller->Synchronize().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(other->Synchronize().code(), StatusCode::kOutOfRange);
  EXPECT_EQ(other->failed_origin(), 42u);
}

// A microsecond for each piece of work, as the driver in the place of NVIDIA's
// counts.
TEST_F(Recordings, ProfilesHaveTheTimesOfTheDevice) {
  const auto replayer = Load(TwoBranches(false));
  ASSERT_TRUE(replayer->BindInput(0, Values(16, 1), 64).ok());
  ASSERT_TRUE(replayer->BindInput(1, Values(16, 5), 64).ok());
  runtime::Profiler profiler;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(replayer->Replay(&profiler).ok());
  const auto totals = profiler.Totals();
  int64_t timed = 0;
  for (const runtime::Profiler::StepTotal& total : totals) {
    if (!total.device_mean_ns()) continue;
    ++timed;
    EXPECT_EQ(total.device_runs, 3) << total.step;
    EXPECT_EQ(total.device_mean_ns(), 1000.0) << total.step;
  }
  EXPECT_EQ(timed, 6);
  EXPECT_EQ(replayer->recordings().recorded, 0);

  const auto queue = *device_->NewQueue();
  float* const from = Values(16, 1);
  float* const to = Values(16, 2);
  ASSERT_TRUE(queue->StartTimer().ok());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(device_->CopyWithin(to, from, 64, queue.get()).ok());
  }
  const auto time = queue->StopTimer();
  ASSERT_TRUE(time.ok()) << time.status();
  EXPECT_EQ(*time, 5 * 1000);
}

}  // namespace
}  // namespace encore::backends::cuda
