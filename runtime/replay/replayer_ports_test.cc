// Inputs and outputs in a device's memory, given by a caller who has them there
// and by one who has host memory alone.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "encore/ir/types/dim.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/replay/weights.h"
#include "encore/runtime/testing/deferred_device.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

using Floats = std::vector<float>;

// x + y of f32[n], all of them in the memory of a late device that the host
// cannot touch.
class ReplayerPorts : public testing::Test {
 protected:
  ReplayerPorts()
      : device_(std::make_shared<DeferredDevice>(std::make_shared<TestDevice>(),
                                                 NewDeferredWork(3),
                                                 DeferredOptions{"test"})) {}

  void SetUp() override {
    TestGraph g;
    g.graph.symbols.push_back({.lower = 0, .upper = 64});
    const Dim n = Dim::OfSymbol(0);
    const SlotId x = g.Tensor(SlotRole::kInput, {n});
    const SlotId y = g.Tensor(SlotRole::kInput, {n});
    g.Launch("add", {x, y}, {g.Tensor(SlotRole::kOutput, {n})});
    g.graph.pools.push_back({DeviceId(0)});
    g.graph.devices[0].pool = PoolId(1);
    for (Slot& slot : g.graph.slots) slot.pool = PoolId(1);
    auto executable =
        Executable::Load(std::make_shared<CompiledGraph>(std::move(g.graph)),
                         {device_}, &threads_);
    ASSERT_TRUE(executable.ok()) << executable.status();
    auto weights = Weights::Prepare(*executable, {}, &threads_);
    ASSERT_TRUE(weights.ok()) << weights.status();
    auto replayer = Replayer::Create(*executable, *weights, &threads_);
    ASSERT_TRUE(replayer.ok()) << replayer.status();
    replayer_ = *std::move(replayer);
  }

  Status BindHost(size_t i, const Floats& values) {
    const auto n = static_cast<int64_t>(values.size());
    return replayer_->BindHostInput(i, values.data(), 4 * n, {{n}});
  }

  Literal Output() {
    StatusOr<Literal> output = replayer_->CopyOutput(0);
    EXPECT_TRUE(output.ok()) << output.status();
    return output.ok() ? *std::move(output) : Literal();
  }

  ThreadPool threads_{1};
  std::shared_ptr<DeferredDevice> device_;
  std::unique_ptr<Replayer> replayer_;
};

TEST_F(ReplayerPorts, HostDataIsCopiedWhenItIsBound) {
  for (const int64_t n : {3, 0, 40, 5}) {
    Floats x(n, 2), y(n, 3);
    ASSERT_TRUE(BindHost(0, x).ok());
    ASSERT_TRUE(BindHost(1, y).ok());
    x.assign(n, 100);
    for (int replay = 0; replay < 2; ++replay) {
      ASSERT_TRUE(replayer_->Replay().ok());
      EXPECT_EQ(Output(), Literal::Vector<float>(Floats(n, 5)));
    }
    y.assign(n, 4);
    ASSERT_TRUE(BindHost(1, y).ok());
    ASSERT_TRUE(replayer_->Replay().ok());
    EXPECT_EQ(Output(), Literal::Vector<float>(Floats(n, 6)));
  }
  replayer_.reset();
  EXPECT_EQ(device_->live_blocks(), 0);
}

TEST_F(ReplayerPorts, DeviceMemoryIsUsedWhereItIs) {
  const Floats values = {1, 2, 3};
  void* in = *device_->Allocate(12);
  void* out = *device_->Allocate(12);
  ASSERT_TRUE(device_->CopyFromHost(in, values.data(), 12, nullptr).ok());
  for (const size_t i : {0, 1}) {
    ASSERT_TRUE(replayer_->BindInput(i, in, 12, {{3}}).ok());
  }
  ASSERT_TRUE(replayer_->BindOutput(0, out, 12).ok());
  const int64_t blocks = device_->live_blocks();
  device_->FailWork(-1);
  ASSERT_TRUE(replayer_->Replay().ok());
  EXPECT_EQ(device_->works(), 1) << "a launch, and no copies";
  EXPECT_EQ(device_->live_blocks(), blocks);
  EXPECT_EQ(replayer_->output(0).data, out);
  EXPECT_EQ(Output(), Literal::Vector<float>(Floats{2, 4, 6}));
  // One of each.
  ASSERT_TRUE(BindHost(1, {10, 20, 30}).ok());
  ASSERT_TRUE(replayer_->Replay().ok());
  EXPECT_EQ(Output(), Literal::Vector<float>(Floats{11, 22, 33}));
  replayer_.reset();
  device_->Deallocate(in, 12);
  device_->Deallocate(out, 12);
  EXPECT_EQ(device_->live_blocks(), 0);
}

TEST_F(ReplayerPorts, BindingAndCopyingWaitForWhatIsInFlight) {
  const auto queue = *device_->NewQueue();
  ASSERT_TRUE(BindHost(0, {1, 2}).ok());
  ASSERT_TRUE(BindHost(1, {3, 4}).ok());
  ASSERT_TRUE(replayer_->Enqueue(DeviceId(0), *queue).ok());
  EXPECT_EQ(Output(), Literal::Vector<float>(Floats{4, 6}));
  ASSERT_TRUE(replayer_->Enqueue(DeviceId(0), *queue).ok());
  ASSERT_TRUE(BindHost(0, {5, 6}).ok());  // into the memory that is read
  EXPECT_EQ(Output(), Literal::Vector<float>(Floats{4, 6}));
  ASSERT_TRUE(replayer_->Enqueue(DeviceId(0), *queue).ok());
  EXPECT_EQ(Output(), Literal::Vector<float>(Floats{8, 10}));
  ASSERT_TRUE(queue->Synchronize().ok());
}

// Each call of the device that a bind makes, failing in turn.
TEST_F(ReplayerPorts, AnInputThatCannotBeCopiedIsNotBound) {
  ASSERT_TRUE(BindHost(0, {1}).ok());
  ASSERT_TRUE(BindHost(1, {2}).ok());
  ASSERT_TRUE(replayer_->Replay().ok());
  Floats larger(20, 1);
  for (int64_t call = 0;; ++call) {
    device_->FailCall(call);
    const Status status = BindHost(0, larger);
    device_->FailCall(-1);
    if (status.ok()) {
      EXPECT_GE(call, 2);
      break;
    }
    EXPECT_EQ(replayer_->Replay().code(), StatusCode::kFailedPrecondition);
  }
  ASSERT_TRUE(BindHost(1, larger).ok());
  ASSERT_TRUE(replayer_->Replay().ok());
  EXPECT_EQ(Output(), Literal::Vector<float>(Floats(20, 2)));
  // What does not fit changes nothing.
  EXPECT_EQ(replayer_->BindHostInput(0, larger.data(), 8, {{3}}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(replayer_->BindHostInput(2, larger.data(), 8, {{2}}).code(),
            StatusCode::kInvalidArgument);
  ASSERT_TRUE(replayer_->Replay().ok());
  EXPECT_EQ(Output(), Literal::Vector<float>(Floats(20, 2)));
}

}  // namespace
}  // namespace encore::runtime
