// What a plan waits for on devices with queues: proved sufficient by the order
// checker on paths of many plans, and by running them as late as may be.
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/profiler.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/testing/deferred_device.h"
#include "encore/runtime/testing/device_plans.h"
#include "encore/runtime/testing/order_checker.h"
#include "encore/runtime/testing/plan_runs.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

constexpr uint32_t kPlans = 60;
constexpr uint32_t kRunPlans = 4;
constexpr uint32_t kPaths = 400;

// Which devices of a plan have queues.
const std::vector<bool> kQueued = {false, true, true};

// The plan of a seed; every other one has its memory planned for queues.
CompiledGraph PlanOf(uint32_t seed) {
  DevicePlanOptions options;
  if (seed % 2 == 1) options.memory.queued = kQueued;
  return RandomDevicePlan(seed, options);
}

struct Deferred {
  Devices devices;
  std::vector<DeferredDevice*> deferred;
};

// The first device of a plan works at once.
Deferred DeferredDevices(uint32_t seed, int queues, bool peers = false,
                         bool records = false) {
  Deferred result;
  const auto work = NewDeferredWork(seed);
  for (const std::string& name : kPlanDevices) {
    auto kernels = std::make_shared<TestDevice>(name);
    if (result.devices.empty()) {
      result.devices.push_back(std::move(kernels));
      continue;
    }
    auto device = std::make_shared<DeferredDevice>(
        std::move(kernels), work,
        DeferredOptions{name, queues, peers, records});
    result.deferred.push_back(device.get());
    result.devices.push_back(std::move(device));
  }
  return result;
}

TEST(QueueOrder, LateDevicesGiveTheSameOutputs) {
  ThreadPool threads(1);
  for (uint32_t seed = 0; seed < kPlans; ++seed) {
    const CompiledGraph graph = PlanOf(seed);
    for (const int queues : {1, 2, 4}) {
      const Deferred devices = DeferredDevices(seed, queues, seed % 2 == 0);
      auto replayer = NewReplayer(graph, devices.devices, &threads);
      ASSERT_TRUE(replayer.ok()) << replayer.status();
      for (uint32_t call = 0; call < 3; ++call) {
        const PlanInputs inputs(seed + call);
        ASSERT_TRUE(Bind(inputs, replayer->get()).ok());
        const Status status = (*replayer)->Replay();
        ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status;
        ASSERT_EQ(OutputsOf(**replayer, graph.outputs.size()),
                  Expected(graph, inputs, &threads))
            << "seed " << seed << ", " << queues << " queues";
      }
    }
  }
}

// Each plan on devices that record: from the second replay on, with the same
// memory and with other, enqueued and not.
TEST(QueueOrder, RecordedReplaysGiveTheSameOutputs) {
  ThreadPool threads(1);
  int64_t runs = 0, changed = 0;
  for (uint32_t seed = 0; seed < kPlans; ++seed) {
    const CompiledGraph graph = PlanOf(seed);
    const Deferred devices =
        DeferredDevices(seed, 1 + static_cast<int>(seed % 4), false, true);
    auto replayer = NewReplayer(graph, devices.devices, &threads);
    ASSERT_TRUE(replayer.ok()) << replayer.status();
    const std::unique_ptr<Queue> caller = *devices.deferred[0]->NewQueue();
    std::vector<PlanInputs> inputs;
    for (uint32_t i = 0; i < 3; ++i) inputs.emplace_back(seed + i);
    for (uint32_t call = 0; call < 8; ++call) {
      const PlanInputs& bound = inputs[call / 2 % 3];
      ASSERT_TRUE(Bind(bound, replayer->get()).ok());
      Status status = call % 3 == 2 ? (*replayer)->Enqueue(DeviceId(1), *caller)
                                    : (*replayer)->Replay();
      if (status.ok()) status = (*replayer)->Synchronize();
      ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status;
      ASSERT_EQ(OutputsOf(**replayer, graph.outputs.size()),
                Expected(graph, bound, &threads))
          << "seed " << seed << ", call " << call;
    }
    runs += (*replayer)->recordings().runs;
    changed += (*replayer)->recordings().changed;
    ASSERT_TRUE(caller->Synchronize().ok());
  }
  std::cout << runs << " runs of recordings, " << changed
            << " launches and copies changed\n";
  EXPECT_GT(runs, 1000);
  EXPECT_GT(changed, 100);
}

TEST(QueueOrder, DevicesWithoutQueuesWaitForNothing) {
  ThreadPool threads(1);
  for (uint32_t seed = 0; seed < kPlans; ++seed) {
    const auto executable = Executable::Load(
        std::make_shared<CompiledGraph>(RandomDevicePlan(seed)),
        DirectDevices(), &threads);
    ASSERT_TRUE(executable.ok()) << executable.status();
    for (const ReplayOp& op : (*executable)->run().ops) {
      EXPECT_LT(op.code, ReplayOp::Code::kRecord);
      EXPECT_EQ(op.queue, 0);
    }
  }
}

// Nothing of the planner's takes part.
std::string FindRace(const CompiledGraph& graph, const ReplayCode& code,
                     uint32_t paths = kPaths) {
  for (uint32_t path = 0; path < paths; ++path) {
    const std::vector<int64_t> symbols(graph.symbols.size(), 1 + path % 16);
    const OrderReport report = CheckOrder(graph, code, symbols, path);
    if (!report.race.empty()) return report.race;
  }
  return "";
}

TEST(QueueOrder, WaitsSufficeAndNoneIsLeftOver) {
  ThreadPool threads(1);
  int waits = 0, left_over = 0;
  std::string list;
  for (uint32_t seed = 0; seed < kPlans; ++seed) {
    const CompiledGraph graph = PlanOf(seed);
    const Deferred devices = DeferredDevices(seed, 4);
    const auto executable = Executable::Load(
        std::make_shared<CompiledGraph>(graph), devices.devices, &threads);
    ASSERT_TRUE(executable.ok()) << executable.status();
    const ReplayCode& code = (*executable)->run();
    EXPECT_EQ(FindRace(graph, code), "") << "seed " << seed;
    for (const uint32_t wait : WaitsOf(code)) {
      ++waits;
      if (!FindRace(graph, Without(code, wait)).empty()) continue;
      ++left_over;
      list += StrCat(" ", seed, ":", wait);
    }
  }
  std::cout << waits << " waits, left over:" << list << "\n";
  EXPECT_GT(waits, 5000);
  // One that each path of a branch implies by another wait of its own.
  EXPECT_LE(left_over * 1000, waits) << "of " << waits << ":" << list;
}

// What the checker says of a missing wait is so: nearly each is seen in the
// outputs under one of 20 orders. Of others the bytes are the same either way.
TEST(QueueOrder, MissingWaitsAreSeen) {
  ThreadPool threads(1);
  int waits = 0, seen = 0;
  std::string unseen;
  for (uint32_t seed = 0; seed < kRunPlans; ++seed) {
    const CompiledGraph graph = RandomDevicePlan(seed);
    // Other branches, trips and sizes.
    std::vector<PlanInputs> inputs;
    std::vector<std::vector<std::string>> expected;
    for (uint32_t i = 0; i < 4; ++i) {
      inputs.emplace_back(seed + i);
      expected.push_back(Expected(graph, inputs.back(), &threads));
    }
    std::vector<Deferred> devices;
    std::vector<std::shared_ptr<const Executable>> late;
    for (uint32_t order = 0; order < 20; ++order) {
      devices.push_back(DeferredDevices(order, 4));
      late.push_back(*Executable::Load(std::make_shared<CompiledGraph>(graph),
                                       devices.back().devices, &threads));
    }
    for (const uint32_t wait : WaitsOf(late[0]->run())) {
      ++waits;
      bool differs = false;
      for (size_t order = 0; !differs && order < late.size(); ++order) {
        // A loop may never end where its condition is read too early.
        for (DeferredDevice* one : devices[order].deferred) one->FailCall(9999);
        const auto outputs =
            RunCode(*late[order], Without(late[order]->run(), wait),
                    inputs[order % 4], &threads);
        differs = !outputs.ok() || *outputs != expected[order % 4];
      }
      seen += differs;
      if (!differs) unseen += StrCat(" ", seed, ":", wait);
    }
  }
  std::cout << seen << " of " << waits << " missing waits seen; not:" << unseen
            << "\n";
  EXPECT_GE(seen * 10, waits * 8);
}

TEST(QueueOrder, FaultsNameTheirStep) {
  ThreadPool threads(1);
  const CompiledGraph graph = RandomDevicePlan(1, {.kernels = 2});
  const PlanInputs inputs(1);
  const Deferred whole = DeferredDevices(1, 4);
  auto once = NewReplayer(graph, whole.devices, &threads);
  ASSERT_TRUE(once.ok() && Bind(inputs, once->get()).ok());
  ASSERT_TRUE((*once)->Replay().ok());
  const int64_t works = whole.deferred[0]->works();
  for (int64_t k = 0; k < works; ++k) {
    const Deferred devices = DeferredDevices(1, 4);
    auto replayer = NewReplayer(graph, devices.devices, &threads);
    auto other = NewReplayer(graph, devices.devices, &threads);
    ASSERT_TRUE(replayer.ok() && other.ok());
    ASSERT_TRUE(Bind(inputs, replayer->get()).ok());
    ASSERT_TRUE(Bind(inputs, other->get()).ok());
    devices.deferred[0]->FailWork(k);
    const Status status = (*replayer)->Replay();
    ASSERT_FALSE(status.ok()) << k;
    EXPECT_NE(status.message().find("asked to fail"), std::string::npos);
    EXPECT_NE(status.message().find("step"), std::string::npos) << status;
    EXPECT_NE((*replayer)->failed_step(), nullptr);
    // This one refuses to go on, others do not notice.
    EXPECT_EQ((*replayer)->Replay().code(), StatusCode::kFailedPrecondition);
    EXPECT_TRUE((*other)->Replay().ok());
  }
  EXPECT_GT(works, 10);
}

// Every call that can fail, one after the other: an error, nothing else.
TEST(QueueOrder, AnyCallMayFail) {
  ThreadPool threads(1);
  const CompiledGraph graph = RandomDevicePlan(2, {.kernels = 2});
  const PlanInputs inputs(2);
  const auto run = [&](const Deferred& devices) -> Status {
    auto replayer = NewReplayer(graph, devices.devices, &threads);
    if (!replayer.ok()) return replayer.status();
    ENCORE_RETURN_IF_ERROR(Bind(inputs, replayer->get()));
    return (*replayer)->Replay();
  };
  const Deferred whole = DeferredDevices(2, 4);
  ASSERT_TRUE(run(whole).ok());
  const int64_t calls = whole.deferred[1]->calls();
  EXPECT_GT(calls, 20);
  for (int64_t k = 0; k < calls; ++k) {
    const Deferred devices = DeferredDevices(2, 4);
    devices.deferred[1]->FailCall(k);
    EXPECT_FALSE(run(devices).ok()) << k;
    EXPECT_EQ(devices.deferred[0]->live_blocks(), 0);
    EXPECT_EQ(devices.deferred[1]->live_blocks(), 0);
  }
}

TEST(QueueOrder, EnqueuedReplaysFollowTheCallersQueue) {
  ThreadPool threads(1);
  DevicePlanOptions options;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    options.control_flow = seed % 2 == 0;
    const CompiledGraph graph = RandomDevicePlan(seed, options);
    const Deferred devices = DeferredDevices(seed, 4);
    auto replayer = NewReplayer(graph, devices.devices, &threads);
    auto other = NewReplayer(graph, devices.devices, &threads);
    ASSERT_TRUE(replayer.ok() && other.ok());
    std::unique_ptr<Queue> caller = *devices.deferred[0]->NewQueue();
    const PlanInputs inputs(seed);
    ASSERT_TRUE(Bind(inputs, replayer->get()).ok());
    ASSERT_TRUE(Bind(inputs, other->get()).ok());
    // Three in flight, two of one replayer.
    ASSERT_TRUE((*replayer)->Enqueue(DeviceId(1), *caller).ok());
    ASSERT_TRUE((*other)->Enqueue(DeviceId(1), *caller).ok());
    ASSERT_TRUE((*replayer)->Enqueue(DeviceId(1), *caller).ok());
    ASSERT_TRUE(caller->Synchronize().ok());
    const auto expected = Expected(graph, inputs, &threads);
    EXPECT_EQ(OutputsOf(**replayer, graph.outputs.size()), expected);
    EXPECT_EQ(OutputsOf(**other, graph.outputs.size()), expected);
    EXPECT_TRUE((*replayer)->Synchronize().ok());
    EXPECT_TRUE((*other)->Synchronize().ok());
    for (const DeviceId none : {DeviceId(0), DeviceId(7)}) {
      EXPECT_EQ((*other)->Enqueue(none, *caller).code(),
                StatusCode::kInvalidArgument);
    }
  }
}

// Without steps on the host nothing has run when Enqueue returns.
TEST(QueueOrder, EnqueueReturnsFirst) {
  ThreadPool threads(1);
  CompiledGraph graph;
  graph.devices = {{"one", 0, PoolId(1)}};
  graph.pools.push_back({DeviceId(0)});
  graph.run = AddPlan(&graph, {});
  Slot slot;
  slot.type = {DType::kF32, Shape({16}), ValueKind::kTensor};
  slot.bytes = 64;
  slot.role = SlotRole::kInput;
  const SlotId in = AddSlot(&graph, slot);
  slot.role = SlotRole::kOutput;
  const SlotId out = AddSlot(&graph, slot);
  slot.role = SlotRole::kTemporary;
  slot.pool = PoolId(1);
  const SlotId there = AddSlot(&graph, slot);
  graph.inputs = {in};
  graph.outputs = {out};
  graph.plans[0].steps = {{Allocate{PoolId(1), there, 64}, {}},
                          {Copy{in, there}, {}},
                          {Copy{there, out}, {}},
                          {Deallocate{PoolId(1), there}, {}}};
  const auto device = std::make_shared<DeferredDevice>(
      std::make_shared<TestDevice>("one"), NewDeferredWork(0),
      DeferredOptions{"one", 3, false});
  auto replayer = NewReplayer(graph, {device}, &threads);
  ASSERT_TRUE(replayer.ok()) << replayer.status();
  std::vector<float> x(16, 1), y(16, 0);
  ASSERT_TRUE((*replayer)->BindInput(0, x.data(), 64).ok());
  ASSERT_TRUE((*replayer)->BindOutput(0, y.data(), 64).ok());
  std::unique_ptr<Queue> caller = *device->NewQueue();
  ASSERT_TRUE((*replayer)->Enqueue(DeviceId(0), *caller).ok());
  EXPECT_EQ(y[3], 0);
  ASSERT_TRUE(caller->Synchronize().ok());
  EXPECT_EQ(y, x);
  // A fault that comes later.
  device->FailWork(1);
  ASSERT_TRUE((*replayer)->Enqueue(DeviceId(0), *caller).ok());
  const Status status = (*replayer)->Synchronize();
  EXPECT_NE(status.message().find("step 2 (copy)"), std::string::npos)
      << status;
  EXPECT_EQ((*replayer)->Replay().code(), StatusCode::kFailedPrecondition);
}

TEST(QueueOrder, CancelledReplaysLeaveNothingBehind) {
  ThreadPool threads(1);
  const CompiledGraph graph = RandomDevicePlan(3);
  const PlanInputs inputs(3);
  const Deferred devices = DeferredDevices(3, 4);
  auto replayer = NewReplayer(graph, devices.devices, &threads);
  ASSERT_TRUE(replayer.ok());
  ASSERT_TRUE(Bind(inputs, replayer->get()).ok());
  (*replayer)->Cancel();
  EXPECT_EQ((*replayer)->Replay().code(), StatusCode::kCancelled);
  // From another thread, at any moment.
  for (int i = 0; i < 20; ++i) {
    std::thread canceller([&] { (*replayer)->Cancel(); });
    const Status status = (*replayer)->Replay();
    canceller.join();
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kCancelled);
    while ((*replayer)->Replay().code() == StatusCode::kCancelled) continue;
  }
  ASSERT_TRUE((*replayer)->Replay().ok());
  EXPECT_EQ(OutputsOf(**replayer, graph.outputs.size()),
            Expected(graph, inputs, &threads));
}

TEST(QueueOrder, ProfilesShowQueuesAndWaits) {
  ThreadPool threads(1);
  const CompiledGraph graph = RandomDevicePlan(4);
  const Deferred devices = DeferredDevices(4, 4);
  auto replayer = NewReplayer(graph, devices.devices, &threads);
  ASSERT_TRUE(replayer.ok());
  const PlanInputs inputs(4);
  ASSERT_TRUE(Bind(inputs, replayer->get()).ok());
  Profiler profiler;
  ASSERT_TRUE((*replayer)->Replay(&profiler).ok());
  std::set<uint32_t> queues;
  bool waits = false;
  for (const Profiler::Record& record : profiler.records()) {
    queues.insert(record.queue);
    waits |= record.is_wait;
  }
  EXPECT_GT(queues.size(), 3u);
  EXPECT_TRUE(waits);
  const std::string trace = profiler.ChromeTrace(graph);
  EXPECT_NE(trace.find("\"tid\":3"), std::string::npos);
  EXPECT_NE(trace.find("wait before "), std::string::npos);
}

}  // namespace
}  // namespace encore::runtime
