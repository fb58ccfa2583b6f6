// A device in a process whose context, memory and streams are a caller's.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cuda/device.h"
#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/fake/fake_driver.h"
#include "encore/backends/cuda/testing/plan_device.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/replay/weights.h"
#include "encore/runtime/testing/test_device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

using fake::FakeDriver;
using runtime::PoolId;
using runtime::SlotId;
using runtime::SlotRole;
using runtime::TestGraph;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kElements = 16, kBytes = 4 * kElements;

// out = -(-x), with a value in an arena between the two.
TestGraph TwoNegations() {
  constexpr PoolId kPool(1);
  TestGraph g(kPool);
  const SlotId x = g.Tensor(SlotRole::kInput, {kElements});
  const SlotId between = g.Temp({kElements});
  const SlotId out = g.Tensor(SlotRole::kOutput, {kElements});
  g.Launch("neg", {x}, {between});
  g.Launch("neg", {between}, {out});
  for (runtime::Slot& slot : g.graph.slots) slot.pool = kPool;
  ENCORE_CHECK_OK(runtime::AssignMemory(&g.graph, {.queued = {true}}).status());
  return g;
}

// The one whose process it is: it has the primary context, an allocator over
// it and a stream.
class SharedContext : public testing::Test {
 protected:
  SharedContext() {
    Check(api().cuDevicePrimaryCtxRetain(&context_, 0));
    Check(api().cuCtxSetCurrent(context_));
    Check(api().cuStreamCreate(&stream_, kStreamNonBlocking));
    Check(api().cuCtxSetCurrent(nullptr));
  }
  ~SharedContext() override {
    Check(api().cuStreamDestroy(stream_));
    Check(api().cuDevicePrimaryCtxRelease(0));
    EXPECT_EQ(fake_->leaks(), std::vector<std::string>());
    EXPECT_EQ(used_, 0);
  }

  const DriverTable& api() const { return driver_->api; }
  static void Check(Result result) {
    ENCORE_CHECK(result == Result::kSuccess) << static_cast<uint32_t>(result);
  }
  DeviceOptions Options() {
    DeviceOptions options;
    options.context = context_;
    options.allocate = [this](int64_t bytes) -> StatusOr<void*> {
      CUcontext current = nullptr;
      Check(api().cuCtxGetCurrent(&current));
      ENCORE_CHECK(current == context_);
      if (used_ + bytes > most_) return ResourceExhaustedError("no more here");
      DevicePointer data = 0;
      Check(api().cuMemAlloc(&data, static_cast<size_t>(bytes) + 64));
      used_ += bytes;
      return reinterpret_cast<void*>(data + shift_);
    };
    options.deallocate = [this](void* data, int64_t bytes) {
      Check(api().cuMemFree(reinterpret_cast<DevicePointer>(data) - shift_));
      used_ -= bytes;
    };
    return options;
  }
  StatusOr<std::unique_ptr<runtime::Replayer>> Load(
      std::shared_ptr<runtime::Device> device) {
    auto executable = runtime::Executable::Load(
        std::make_shared<runtime::CompiledGraph>(TwoNegations().graph),
        {std::move(device)}, &threads_);
    ENCORE_CHECK_OK(executable.status());
    const auto weights = runtime::Weights::Prepare(*executable, {}, &threads_);
    ENCORE_CHECK_OK(weights.status());
    return runtime::Replayer::Create(*executable, *weights, &threads_);
  }

  const std::shared_ptr<FakeDriver> fake_ = FakeDriver::New({.seed = 7});
  const std::shared_ptr<const Driver> driver_ = fake_->driver();
  runtime::ThreadPool threads_{1};
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  int64_t used_ = 0, most_ = 1 << 20;
  uint64_t shift_ = 0;
};

TEST_F(SharedContext, ReplaysInTheCallersContextMemoryAndStream) {
  fake_->FailCall("cuDevicePrimaryCtxRetain", -1, Result::kSuccess);
  {
    auto made = NewPlanDevice(driver_, 0, "test", Options());
    ASSERT_TRUE(made.ok()) << made.status();
    const std::shared_ptr<runtime::Device> device = *std::move(made);
    const auto queue = QueueOf(*device, stream_);
    EXPECT_FALSE(queue.ok());  // a device of another kind of the tests
    const int64_t before = used_;
    const auto replayer = Load(device);
    ASSERT_TRUE(replayer.ok()) << replayer.status();
    const std::vector<float> x(kElements, 3);
    ASSERT_EQ((*replayer)->BindHostInput(0, x.data(), kBytes), OkStatus());
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ((*replayer)->Replay(), OkStatus());
      const auto y = (*replayer)->CopyOutput(0);
      ASSERT_TRUE(y.ok()) << y.status();
      EXPECT_THAT(y->values<float>(), Each(3.0f));
    }
    // The arena, the input and the output.
    EXPECT_GE(used_, before + 3 * kBytes);
  }
  EXPECT_EQ(used_, 0);
  EXPECT_EQ(fake_->calls("cuDevicePrimaryCtxRetain"), 0);
}

TEST_F(SharedContext, WorkIsBehindWhatTheCallersStreamHas) {
  const auto made = NewDevice(driver_, 0, "cuda", Options());
  ASSERT_TRUE(made.ok()) << made.status();
  const auto queue = QueueOf(**made, stream_);
  ASSERT_TRUE(queue.ok()) << queue.status();
  void* const data = *(*made)->Allocate(kBytes);
  const std::vector<float> first(kElements, 1), second(kElements, 2);
  std::vector<float> seen(kElements);
  Check(api().cuMemcpyHtoDAsync(reinterpret_cast<DevicePointer>(data),
                                first.data(), kBytes, stream_));
  ASSERT_EQ((*made)->CopyFromHost(data, second.data(), kBytes, queue->get()),
            OkStatus());
  ASSERT_EQ((*made)->CopyToHost(seen.data(), data, kBytes, queue->get()),
            OkStatus());
  ASSERT_EQ((*queue)->Synchronize(), OkStatus());
  EXPECT_EQ(seen, second);
  (*made)->Deallocate(data, kBytes);
}

TEST_F(SharedContext, TheAllocatorsAnswersAreLookedAt) {
  {
    auto made = NewPlanDevice(driver_, 0, "test", Options());
    ASSERT_TRUE(made.ok()) << made.status();
    most_ = 0;
    const Status status = Load(*std::move(made)).status();
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(Message(status), HasSubstr("no more here"));
  }
  most_ = 1 << 20;
  shift_ = 4;
  const auto made = NewDevice(driver_, 0, "cuda", Options());
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(Message((*made)->Allocate(kBytes).status()),
              HasSubstr("is not aligned to 64"));
  DeviceOptions half = Options();
  half.deallocate = nullptr;
  EXPECT_EQ(NewDevice(driver_, 0, "cuda", half).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace encore::backends::cuda
