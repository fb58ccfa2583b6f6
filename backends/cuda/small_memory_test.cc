// Replays on a device that has too little memory for a plan, or says so once.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/fake/fake_driver.h"
#include "encore/backends/cuda/testing/plan_device.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/replay/weights.h"
#include "encore/runtime/testing/plan_runs.h"
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
using runtime::ThreadPool;

using Leaks = std::vector<std::string>;

constexpr int64_t kElements = 4096;
constexpr uint64_t kRow = 4 * kElements;

// out = -x - x: the first value lies there until the end, so that three rows
// are live, or is made again, and two are. Of kElements elements, or of up to
// so many, and then with x as another output.
runtime::CompiledGraph KeepsAValue(bool symbolic = false) {
  runtime::TestGraph g{PoolId(1)};
  const Dim n = symbolic ? Dim::OfSymbol(0) : Dim(kElements);
  if (symbolic) g.graph.symbols.push_back({.lower = 0, .upper = kElements});
  const SlotId kept = g.Temp({n});
  g.Launch("neg", {g.Tensor(SlotRole::kInput, {n})}, {kept});
  SlotId last = kept;
  for (int i = 0; i < 4; ++i) {
    const SlotId next = g.Temp({n});
    g.Launch("neg", {last}, {next});
    last = next;
  }
  g.Launch("add", {last, kept}, {g.Tensor(SlotRole::kOutput, {n})});
  if (symbolic) g.Launch("neg", {kept}, {g.Tensor(SlotRole::kOutput, {n})});
  for (runtime::Slot& slot : g.graph.slots) slot.pool = PoolId(1);
  ENCORE_CHECK_OK(runtime::AssignMemory(&g.graph, {.queued = {true}}).status());
  return std::move(g.graph);
}

class SmallMemory : public testing::Test {
 protected:
  SmallMemory() : graph_(KeepsAValue()), threads_(1) {
    for (int64_t i = 0; i < kElements; ++i) {
      values_.push_back(static_cast<float>(i % 7) + 1);
    }
  }

  StatusOr<std::unique_ptr<Replayer>> Load(FakeDriver& fake) {
    ENCORE_ASSIGN_OR_RETURN(auto device,
                            NewPlanDevice(fake.driver(), 0, "test"));
    return runtime::NewReplayer(graph_, {std::move(device)}, &threads_);
  }
  Status Bind(Replayer& replayer) {
    return replayer.BindHostInput(0, values_.data(), kRow);
  }
  Status CheckOutput(Replayer& replayer) {
    ENCORE_ASSIGN_OR_RETURN(const Literal out, replayer.CopyOutput(0));
    for (int64_t i = 0; i < kElements; ++i) {
      EXPECT_EQ(out.AsDouble(i), -2 * values_[i]) << i;
    }
    return OkStatus();
  }
  // Eager, recorded, as it was recorded.
  Status ReplayThrice(Replayer& replayer) {
    ENCORE_RETURN_IF_ERROR(Bind(replayer));
    for (int call = 0; call < 3; ++call) {
      ENCORE_RETURN_IF_ERROR(replayer.Replay());
      ENCORE_RETURN_IF_ERROR(CheckOutput(replayer));
    }
    return OkStatus();
  }

  const runtime::CompiledGraph graph_;
  ThreadPool threads_;
  std::vector<float> values_;
};

TEST_F(SmallMemory, ASmallerPlanIsTriedFirst) {
  int failed = 0, smaller = 0, whole = 0;
  // Input and output take a row each.
  for (uint64_t memory = 0; memory <= 6 * kRow; memory += kRow / 2) {
    SCOPED_TRACE(memory);
    const auto fake = FakeDriver::New({.seed = 1, .memory = memory});
    {
      auto replayer = Load(*fake);
      Status status = replayer.status();
      if (status.ok()) status = ReplayThrice(**replayer);
      if (status.ok()) {
        EXPECT_EQ((*replayer)->is_smaller(), memory < 5 * kRow);
        EXPECT_GE(memory, 4 * kRow);
        ++((*replayer)->is_smaller() ? smaller : whole);
      } else {
        EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
        EXPECT_LT(memory, 4 * kRow);
        ++failed;
      }
    }
    EXPECT_EQ(fake->leaks(), Leaks());
  }
  EXPECT_EQ(failed, 8);
  EXPECT_EQ(smaller, 2);
  EXPECT_EQ(whole, 3);
}

// Only who finds no memory fails.
TEST_F(SmallMemory, OthersGoOn) {
  const auto fake = FakeDriver::New({.seed = 2, .memory = 7 * kRow});
  {
    auto device = NewPlanDevice(fake->driver(), 0, "test");
    ASSERT_TRUE(device.ok());
    const runtime::Devices devices = {*std::move(device)};
    auto first = runtime::NewReplayer(graph_, devices, &threads_);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(ReplayThrice(**first), OkStatus());
    auto second = runtime::NewReplayer(graph_, devices, &threads_);
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_TRUE((*second)->is_smaller());
    EXPECT_EQ(Bind(**second).code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(ReplayThrice(**first), OkStatus());
    EXPECT_FALSE((*first)->is_smaller());
    first->reset();
    EXPECT_EQ(ReplayThrice(**second), OkStatus());
  }
  EXPECT_EQ(fake->leaks(), Leaks());
}

// A device keeps the queue of copies that are done on return, and makes it anew
// when it has failed: then it has one.
void CopyAnything(runtime::Device& device) {
  float value = 0;
  const auto memory = device.Allocate(sizeof value);
  ASSERT_TRUE(memory.ok());
  ASSERT_EQ(device.CopyFromHost(*memory, &value, sizeof value, nullptr),
            OkStatus());
  device.Deallocate(*memory, sizeof value);
}

// Any call that says once that there is no memory: of memory of any kind, of
// queues, of recordings and of what they run. All have another way.
TEST_F(SmallMemory, AnyCallMayLackMemory) {
  constexpr std::string_view kFunctions[] = {
#define ENCORE_CUDA_FUNCTION(name, ...) #name,
#include "encore/backends/cuda/driver/functions.def"
#undef ENCORE_CUDA_FUNCTION
  };
  const auto fake = FakeDriver::New({.seed = 3});
  auto device = NewPlanDevice(fake->driver(), 0, "test");
  ASSERT_TRUE(device.ok());
  const runtime::Devices devices = {*std::move(device)};
  auto executable = runtime::Executable::Load(
      std::make_shared<runtime::CompiledGraph>(graph_), devices, &threads_);
  ASSERT_TRUE(executable.ok());
  const auto weights = runtime::Weights::Prepare(*executable, {}, &threads_);
  ASSERT_TRUE(weights.ok());
  CopyAnything(*devices[0]);
  const Leaks held = fake->leaks();
  int64_t made = 0, smaller = 0, given_up = 0;
  const auto run = [&]() -> Status {
    ENCORE_ASSIGN_OR_RETURN(auto replayer,
                            Replayer::Create(*executable, *weights, &threads_));
    ENCORE_RETURN_IF_ERROR(Bind(*replayer));
    for (int call = 0; call < 3; ++call) {
      ENCORE_RETURN_IF_ERROR(replayer->Replay());
    }
    smaller += replayer->is_smaller();
    given_up += replayer->recordings().kept == 0;
    return CheckOutput(*replayer);
  };
  for (const std::string_view function : kFunctions) {
    for (int64_t k = 0;; ++k) {
      fake->FailCall(function, k, Result::kOutOfMemory);
      const Status status = run();
      const bool called = fake->calls(function) > k;
      fake->FailCall(function, -1, Result::kSuccess);
      // What reads or waits says what came before.
      const bool is_asked = function.ends_with("Synchronize") ||
                            function.starts_with("cuMemcpyDtoH") ||
                            function.starts_with("cuMemcpyHtoD") ||
                            function == "cuCtxSetCurrent";
      EXPECT_TRUE(status.ok() || is_asked)
          << function << " " << k << ": " << status;
      CopyAnything(*devices[0]);
      EXPECT_EQ(fake->leaks(), held) << function << " " << k;
      if (!called) break;
      ++made;
    }
  }
  std::cout << made << " calls lacked memory: " << smaller << " smaller plans, "
            << given_up << " without recordings\n";
  EXPECT_GT(made, 40);
  EXPECT_GT(smaller, 3);
  EXPECT_GT(given_up, 3);
}

TEST_F(SmallMemory, EnqueuedReplaysToo) {
  const auto fake = FakeDriver::New({.seed = 4, .memory = 4 * kRow});
  {
    auto replayer = Load(*fake);
    ASSERT_TRUE(replayer.ok());
    ASSERT_EQ(Bind(**replayer), OkStatus());
    const auto& device = (*replayer)->executable().devices()[0];
    const auto caller = *device->NewQueue();
    for (int call = 0; call < 4; ++call) {
      fake->FailCall("cuGraphLaunch", call == 2 ? 0 : -1, Result::kOutOfMemory);
      ASSERT_EQ((*replayer)->Enqueue(DeviceId(0), *caller), OkStatus()) << call;
      ASSERT_EQ(caller->Synchronize(), OkStatus());
      ASSERT_EQ(CheckOutput(**replayer), OkStatus());
    }
    EXPECT_TRUE((*replayer)->is_smaller());
    EXPECT_EQ((*replayer)->recordings().kept, 0);
  }
  EXPECT_EQ(fake->leaks(), Leaks());
}

// Sizes that no plan has memory for leave the plan as it was for others. Its
// arena is as large as any sizes need, and input and outputs of a row each are
// too much beside the smaller one's, too.
TEST_F(SmallMemory, WhatFitsNoPlanChangesNone) {
  const runtime::CompiledGraph graph = KeepsAValue(/*symbolic=*/true);
  const auto fake = FakeDriver::New({.seed = 5, .memory = 9 * kRow / 2});
  {
    auto device = NewPlanDevice(fake->driver(), 0, "test");
    ASSERT_TRUE(device.ok());
    auto replayer =
        runtime::NewReplayer(graph, {*std::move(device)}, &threads_);
    ASSERT_TRUE(replayer.ok()) << replayer.status();
    const auto replay = [&](int64_t n) -> Status {
      const int64_t dims[] = {n};
      ENCORE_RETURN_IF_ERROR(
          (*replayer)->BindHostInput(0, values_.data(), 4 * n, dims));
      return (*replayer)->Replay();
    };
    EXPECT_EQ(replay(16), OkStatus());
    EXPECT_EQ(replay(kElements).code(), StatusCode::kResourceExhausted);
    EXPECT_FALSE((*replayer)->is_smaller());
    EXPECT_EQ(replay(16), OkStatus());
    const auto out = (*replayer)->CopyOutput(0);
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(out->AsDouble(3), -2 * values_[3]);
  }
  EXPECT_EQ(fake->leaks(), Leaks());
}

// What an enqueued replay did wrong is not lost where the next one, enqueued
// beside it, has too little memory and is done again.
TEST_F(SmallMemory, FaultsOfEarlierReplaysAreNotLost) {
  runtime::TestGraph g{PoolId(1)};
  const SlotId checked = g.Temp({kElements});
  g.Launch("checked", {g.Tensor(SlotRole::kInput, {kElements})}, {checked});
  g.Launch("neg", {checked}, {g.Tensor(SlotRole::kOutput, {kElements})});
  for (runtime::Slot& slot : g.graph.slots) slot.pool = PoolId(1);
  ENCORE_CHECK_OK(runtime::AssignMemory(&g.graph, {.queued = {true}}).status());
  const std::vector<float> wrong(kElements, -1);
  for (const bool one_by_one : {false, true}) {
    for (const int64_t k : {0, 1}) {
      SCOPED_TRACE(k);
      const auto fake = FakeDriver::New({.seed = 6});
      {
        auto made = NewPlanDevice(fake->driver(), 0, "test");
        ASSERT_TRUE(made.ok());
        const std::shared_ptr<runtime::Device> device = *std::move(made);
        auto replayer = runtime::NewReplayer(g.graph, {device}, &threads_);
        ASSERT_TRUE(replayer.ok()) << replayer.status();
        const auto caller = *device->NewQueue();
        void* const good = *device->Allocate(kRow);
        void* const bad = *device->Allocate(kRow);
        ASSERT_TRUE(
            device->CopyFromHost(good, values_.data(), kRow, nullptr).ok());
        ASSERT_TRUE(
            device->CopyFromHost(bad, wrong.data(), kRow, nullptr).ok());
        const auto enqueue = [&](const void* input) -> Status {
          ENCORE_RETURN_IF_ERROR((*replayer)->BindInput(0, input, kRow));
          return (*replayer)->Enqueue(DeviceId(0), *caller);
        };
        for (int call = 0; one_by_one && call < 2; ++call) {
          fake->FailCall("cuGraphInstantiateWithFlags", 0,
                         Result::kOutOfMemory);
          ASSERT_EQ(enqueue(good), OkStatus());
        }
        ASSERT_EQ(enqueue(bad), OkStatus());
        fake->FailCall("cuLaunchKernel", k, Result::kOutOfMemory);
        Status status = enqueue(good);
        if (status.ok()) status = (*replayer)->Synchronize();
        EXPECT_NE(status, OkStatus());
        replayer->reset();
        device->Deallocate(good, kRow);
        device->Deallocate(bad, kRow);
      }
      EXPECT_EQ(fake->leaks(), Leaks());
    }
  }
}

}  // namespace
}  // namespace encore::backends::cuda
