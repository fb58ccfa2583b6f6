// The device on a driver that executes: plans of the runtime's, faults, and
// every call that fails.
#include "encore/backends/cuda/device.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "encore/backends/cuda/driver/driver.h"
#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/fake/fake_driver.h"
#include "encore/backends/cuda/testing/plan_device.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/replay/weights.h"
#include "encore/runtime/testing/device_plans.h"
#include "encore/runtime/testing/order_checker.h"
#include "encore/runtime/testing/plan_runs.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

using fake::FakeDriver;
using runtime::CompiledGraph;
using runtime::Device;
using runtime::DeviceId;
using runtime::Devices;
using runtime::PlanInputs;
using runtime::Queue;
using runtime::ThreadPool;

using Leaks = std::vector<std::string>;

// Those of the runtime's plans: one that works on the host, two of CUDA.
StatusOr<Devices> PlanDevices(FakeDriver& fake) {
  Devices devices;
  for (const std::string& name : runtime::kPlanDevices) {
    const auto number = static_cast<uint32_t>(devices.size());
    if (number == 0) {
      devices.push_back(std::make_shared<runtime::TestDevice>(name));
      continue;
    }
    ENCORE_ASSIGN_OR_RETURN(std::shared_ptr<Device> device,
                            NewPlanDevice(fake.driver(), number - 1, name));
    devices.push_back(std::move(device));
  }
  return devices;
}

std::shared_ptr<FakeDriver> NewFake(uint32_t seed) {
  return FakeDriver::New({.seed = seed, .devices = 2});
}

TEST(CudaDevice, PlansGiveTheSameOutputsUnderEverySeed) {
  ThreadPool threads(1);
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const CompiledGraph graph = runtime::RandomDevicePlan(seed);
    const auto fake = NewFake(seed);
    {
      auto replayer =
          runtime::NewReplayer(graph, *PlanDevices(*fake), &threads);
      ASSERT_TRUE(replayer.ok()) << replayer.status();
      for (uint32_t call = 0; call < 4; ++call) {
        const PlanInputs inputs(seed + call / 2);
        ASSERT_TRUE(runtime::Bind(inputs, replayer->get()).ok());
        const Status status = (*replayer)->Replay();
        ASSERT_TRUE(status.ok()) << status;
        ASSERT_EQ(runtime::OutputsOf(**replayer, graph.outputs.size()),
                  runtime::Expected(graph, inputs, &threads));
      }
    }
    EXPECT_EQ(fake->leaks(), Leaks());
  }
}

// What the planner's waits are for is seen: each that is left out by the
// checker, and nearly each by other outputs, or an error, under one of 20
// seeds. Of others the bytes are the same either way.
TEST(CudaDevice, MissingWaitsAreSeen) {
  ThreadPool threads(1);
  int waits = 0, seen = 0;
  for (uint32_t plan = 0; plan < 20; ++plan) {
    const CompiledGraph graph =
        runtime::RandomDevicePlan(plan, {.control_flow = false});
    const PlanInputs inputs(plan);
    const auto expected = runtime::Expected(graph, inputs, &threads);
    std::vector<bool> missed;
    for (uint32_t seed = 0; seed < 20; ++seed) {
      const auto fake = NewFake(seed);
      const auto executable =
          runtime::Executable::Load(std::make_shared<CompiledGraph>(graph),
                                    *PlanDevices(*fake), &threads);
      ASSERT_TRUE(executable.ok()) << executable.status();
      const auto all = runtime::WaitsOf((*executable)->run());
      missed.resize(all.size());
      for (size_t i = 0; seed == 0 && i < all.size(); ++i) {
        const std::vector<int64_t> symbols(graph.symbols.size(), 1);
        EXPECT_NE(runtime::CheckOrder(
                      graph, runtime::Without((*executable)->run(), all[i]),
                      symbols, /*seed=*/0)
                      .race,
                  "")
            << "plan " << plan << ", wait " << all[i];
      }
      for (size_t i = 0; i < all.size(); ++i) {
        if (missed[i]) continue;
        const auto outputs = runtime::RunCode(
            **executable, runtime::Without((*executable)->run(), all[i]),
            inputs, &threads);
        missed[i] = !outputs.ok() || *outputs != expected;
      }
    }
    waits += static_cast<int>(missed.size());
    seen += static_cast<int>(std::ranges::count(missed, true));
  }
  std::cout << seen << " of " << waits << " missing waits seen\n";
  EXPECT_GT(waits, 300);
  EXPECT_GE(seen * 10, waits * 8);
}

constexpr std::string_view kFunctions[] = {
#define ENCORE_CUDA_FUNCTION(name, version, parameters) #name,
#include "encore/backends/cuda/driver/functions.def"
#undef ENCORE_CUDA_FUNCTION
};

// Whatever call fails, of whatever function, in three plans: a status or
// nothing, nothing left behind, and the next replayer is right.
class AnyCall : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(CudaDevice, AnyCall, testing::Values(2, 5, 9));

TEST_P(AnyCall, MayFail) {
  constexpr int64_t kMostCalls = 40;  // of each function
  ThreadPool threads(1);
  const CompiledGraph graph =
      runtime::RandomDevicePlan(GetParam(), {.kernels = 1});
  const PlanInputs inputs(GetParam());
  const auto expected = runtime::Expected(graph, inputs, &threads);
  const auto run = [&](FakeDriver& fake) -> Status {
    ENCORE_ASSIGN_OR_RETURN(const Devices devices, PlanDevices(fake));
    ENCORE_ASSIGN_OR_RETURN(auto replayer,
                            runtime::NewReplayer(graph, devices, &threads));
    for (int call = 0; call < 3; ++call) {
      ENCORE_RETURN_IF_ERROR(runtime::Bind(inputs, replayer.get()));
      ENCORE_RETURN_IF_ERROR(replayer->Replay());
      EXPECT_EQ(runtime::OutputsOf(*replayer, graph.outputs.size()), expected);
    }
    return OkStatus();
  };
  const auto fake = NewFake(2);
  std::vector<std::pair<std::string_view, int64_t>> calls;
  for (const std::string_view function : kFunctions) {
    fake->FailCall(function, -1, Result::kSuccess);
  }
  ASSERT_TRUE(run(*fake).ok());
  for (const std::string_view function : kFunctions) {
    calls.emplace_back(function, std::min(fake->calls(function), kMostCalls));
  }
  int64_t made = 0, errors = 0;
  for (const auto& [function, count] : calls) {
    for (int64_t k = 0; k < count; ++k, ++made) {
      SCOPED_TRACE(std::string(function) + " " + std::to_string(k));
      fake->FailCall(function, k,
                     k % 2 == 0 ? Result::kUnknown : Result::kOutOfMemory);
      errors += !run(*fake).ok();
      EXPECT_EQ(fake->leaks(), Leaks()) << function << " " << k;
      fake->FailCall(function, -1, Result::kSuccess);
    }
    const Status again = run(*fake);
    ASSERT_TRUE(again.ok()) << function << ": " << again;
  }
  std::cout << made << " calls made to fail, " << errors << " were errors\n";
  EXPECT_GT(made, 300);
}

// Work that fails loses the device: a status that says so to everybody, and
// nothing left behind.
TEST(CudaDevice, AnyWorkMayFail) {
  ThreadPool threads(1);
  const CompiledGraph graph = runtime::RandomDevicePlan(1, {.kernels = 2});
  const PlanInputs inputs(1);
  int64_t works = 0;
  for (int64_t k = 0; k <= works; ++k) {
    const auto fake = NewFake(1);
    {
      const Devices devices = *PlanDevices(*fake);
      auto replayer = runtime::NewReplayer(graph, devices, &threads);
      auto other = runtime::NewReplayer(graph, devices, &threads);
      ASSERT_TRUE(replayer.ok() && other.ok());
      ASSERT_TRUE(runtime::Bind(inputs, replayer->get()).ok());
      ASSERT_TRUE(runtime::Bind(inputs, other->get()).ok());
      fake->FailWork(k == works ? -1 : k, Result::kLaunchFailed);
      const Status status = (*replayer)->Replay();
      if (works == 0) {
        ASSERT_TRUE(status.ok()) << status;
        works = fake->works();
        k = -1;
        continue;
      }
      if (k == works) break;
      ASSERT_FALSE(status.ok()) << k;
      EXPECT_NE(Message(status).find("the device is lost"), std::string::npos)
          << status;
      EXPECT_EQ((*replayer)->Replay().code(), StatusCode::kFailedPrecondition);
      EXPECT_FALSE((*other)->Replay().ok());
    }
    EXPECT_EQ(fake->leaks(), Leaks()) << k;
  }
  EXPECT_GT(works, 20);
}

TEST(CudaDevice, EnqueuedReplaysFollowTheCallersQueue) {
  ThreadPool threads(1);
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const CompiledGraph graph =
        runtime::RandomDevicePlan(seed, {.control_flow = seed % 2 == 0});
    const auto fake = NewFake(seed);
    {
      const Devices devices = *PlanDevices(*fake);
      auto replayer = runtime::NewReplayer(graph, devices, &threads);
      auto other = runtime::NewReplayer(graph, devices, &threads);
      ASSERT_TRUE(replayer.ok() && other.ok());
      const std::unique_ptr<Queue> caller = *devices[1]->NewQueue();
      const PlanInputs inputs(seed);
      ASSERT_TRUE(runtime::Bind(inputs, replayer->get()).ok());
      ASSERT_TRUE(runtime::Bind(inputs, other->get()).ok());
      for (int round = 0; round < 3; ++round) {
        // Three in flight, two of one replayer.
        ASSERT_TRUE((*replayer)->Enqueue(DeviceId(1), *caller).ok());
        ASSERT_TRUE((*other)->Enqueue(DeviceId(1), *caller).ok());
        ASSERT_TRUE((*replayer)->Enqueue(DeviceId(1), *caller).ok());
        ASSERT_TRUE(caller->Synchronize().ok());
        const auto expected = runtime::Expected(graph, inputs, &threads);
        EXPECT_EQ(runtime::OutputsOf(**replayer, graph.outputs.size()),
                  expected);
        EXPECT_EQ(runtime::OutputsOf(**other, graph.outputs.size()), expected);
      }
      EXPECT_TRUE((*replayer)->Synchronize().ok());
      EXPECT_TRUE((*other)->Synchronize().ok());
    }
    EXPECT_EQ(fake->leaks(), Leaks());
  }
}

// Plans without control flow: recorded at the second replay, run as they are
// after that, changed where bindings are others; always with the outputs that
// each step by itself gives.
TEST(CudaDevice, RecordedReplaysGiveTheSameOutputs) {
  ThreadPool threads(1);
  int64_t changed = 0, runs = 0;
  for (uint32_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    const CompiledGraph graph =
        runtime::RandomDevicePlan(seed, {.control_flow = seed % 3 == 0});
    const auto fake = NewFake(seed);
    {
      auto replayer =
          runtime::NewReplayer(graph, *PlanDevices(*fake), &threads);
      ASSERT_TRUE(replayer.ok()) << replayer.status();
      std::vector<PlanInputs> inputs;
      for (uint32_t i = 0; i < 3; ++i) inputs.emplace_back(seed + i);
      for (uint32_t call = 0; call < 9; ++call) {
        // Twice the same memory, then other memory.
        const PlanInputs& bound = inputs[call / 2 % 3];
        ASSERT_TRUE(runtime::Bind(bound, replayer->get()).ok());
        const Status status = (*replayer)->Replay();
        ASSERT_TRUE(status.ok()) << status;
        ASSERT_EQ(runtime::OutputsOf(**replayer, graph.outputs.size()),
                  runtime::Expected(graph, bound, &threads))
            << "call " << call;
      }
      const runtime::RecordingCounts counts = (*replayer)->recordings();
      changed += counts.changed;
      runs += counts.runs;
    }
    EXPECT_EQ(fake->leaks(), Leaks());
  }
  std::cout << runs << " runs of recordings, " << changed
            << " launches and copies changed\n";
  EXPECT_GT(runs, 300);
  EXPECT_GT(changed, 30);
}

// Replayers of one executable on threads of their own.
TEST(CudaDevice, ReplayersWorkAtOnce) {
  ThreadPool threads(1);
  const CompiledGraph graph = runtime::RandomDevicePlan(4);
  const auto fake = NewFake(4);
  {
    const auto executable = runtime::Executable::Load(
        std::make_shared<CompiledGraph>(graph), *PlanDevices(*fake), &threads);
    ASSERT_TRUE(executable.ok()) << executable.status();
    const auto weights = runtime::Weights::Prepare(*executable, {}, &threads);
    ASSERT_TRUE(weights.ok()) << weights.status();
    std::vector<std::thread> workers;
    for (uint32_t worker = 0; worker < 4; ++worker) {
      workers.emplace_back([&, worker] {
        ThreadPool own(1);
        const PlanInputs inputs(worker);
        const auto expected = runtime::Expected(graph, inputs, &own);
        const auto replayer =
            runtime::Replayer::Create(*executable, *weights, &own);
        EXPECT_TRUE(replayer.ok() &&
                    runtime::Bind(inputs, replayer->get()).ok());
        for (int call = 0; call < 6; ++call) {
          const Status status = (*replayer)->Replay();
          EXPECT_TRUE(status.ok()) << status;
          EXPECT_EQ(runtime::OutputsOf(**replayer, graph.outputs.size()),
                    expected);
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
  }
  EXPECT_EQ(fake->leaks(), Leaks());
}

TEST(CudaDevice, NothingGrowsWithReplays) {
  ThreadPool threads(1);
  const CompiledGraph graph = runtime::RandomDevicePlan(3);
  const auto fake = NewFake(3);
  auto replayer = runtime::NewReplayer(graph, *PlanDevices(*fake), &threads);
  ASSERT_TRUE(replayer.ok());
  const PlanInputs inputs(3);
  ASSERT_TRUE(runtime::Bind(inputs, replayer->get()).ok());
  const auto files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  Leaks held;
  int64_t open = 0;
  for (int call = 0; call < 100; ++call) {
    ASSERT_TRUE((*replayer)->Replay().ok());
    if (call == 3) {
      held = fake->leaks();
      open = files();
    }
  }
  EXPECT_EQ(fake->leaks(), held);
  EXPECT_EQ(files(), open);
}

}  // namespace
}  // namespace encore::backends::cuda
