// The device on a driver that executes: plans of the runtime's, faults, and
// every call that fails.
#include "encore/backends/cuda/device.h"

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cuda/driver/driver.h"
#include "encore/backends/cuda/fake/fake_driver.h"
#include "encore/backends/cuda/testing/plan_device.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/testing/device_plans.h"
#include "encore/runtime/testing/order_checker.h"
#include "encore/runtime/testing/plan_runs.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

using fake::FakeDriver;
using runtime::CompiledGraph;
using runtime::Devices;
using runtime::PlanInputs;
using runtime::Replayer;
using runtime::ThreadPool;

// Those of the runtime's plans: one that works on the host, two of CUDA.
StatusOr<Devices> PlanDevices(FakeDriver& fake) {
  Devices devices;
  for (const std::string& name : runtime::kPlanDevices) {
    const auto number = static_cast<uint32_t>(devices.size());
    if (number == 0) {
      devices.push_back(std::make_shared<runtime::TestDevice>(name));
      continue;
    }
    auto device = NewPlanDevice(fake.driver(), number - 1, name);
    if (!device.ok()) return device.status();
    devices.push_back(*std::move(device));
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
    EXPECT_EQ(fake->leaks(), std::vector<std::string>());
  }
}

}  // namespace
}  // namespace encore::backends::cuda
