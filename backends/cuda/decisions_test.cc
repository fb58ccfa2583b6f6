// Control flow that conditional nodes decide, beside what the host decides, on
// a driver that executes.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "encore/backends/cuda/device.h"
#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/fake/fake_driver.h"
#include "encore/backends/cuda/testing/plan_device.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/plan/plan_verifier.h"
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
using runtime::DeviceId;
using runtime::Devices;
using runtime::Invoke;
using runtime::InvokeKind;
using runtime::PlanId;
using runtime::PlanInputs;
using runtime::PoolId;
using runtime::Replayer;
using runtime::SlotId;
using runtime::SlotRole;
using runtime::ThreadPool;

using Leaks = std::vector<std::string>;

// Random plans whose control flow is all on one device.
TEST(Decisions, GiveWhatTheHostDecides) {
  ThreadPool threads(1);
  int64_t decided = 0, waits[3] = {};
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const CompiledGraph graph =
        runtime::RandomDevicePlan(seed, {.kernels = 3, .only = 1});
    for (const Decides decides :
         {Decides::kNothing, Decides::kBranches, Decides::kLoops}) {
      const auto fake = FakeDriver::New({.seed = seed, .devices = 2});
      {
        Devices devices = {
            std::make_shared<runtime::TestDevice>(runtime::kPlanDevices[0])};
        for (uint32_t d = 1; d < 3; ++d) {
          auto device =
              NewPlanDevice(fake->driver(), d - 1, runtime::kPlanDevices[d],
                            {.decides = decides});
          ASSERT_TRUE(device.ok()) << device.status();
          devices.push_back(*std::move(device));
        }
        auto replayer = runtime::NewReplayer(graph, devices, &threads);
        ASSERT_TRUE(replayer.ok()) << replayer.status();
        const std::vector<int64_t> symbols(graph.symbols.size(), 1);
        EXPECT_EQ(runtime::CheckOrder(graph, (*replayer)->executable().run(),
                                      symbols, seed)
                      .race,
                  "");
        std::vector<PlanInputs> inputs;
        for (uint32_t i = 0; i < 3; ++i) inputs.emplace_back(seed + i);
        for (uint32_t call = 0; call < 8; ++call) {
          // Twice the same memory, then other values and other memory.
          const PlanInputs& bound = inputs[call / 2 % 3];
          ASSERT_TRUE(runtime::Bind(bound, replayer->get()).ok());
          if (call == 7) {
            fake->FailCall("cuStreamSynchronize", -1, Result::kSuccess);
            fake->FailCall("cuEventSynchronize", -1, Result::kSuccess);
          }
          const Status status = (*replayer)->Replay();
          ASSERT_TRUE(status.ok()) << status;
          ASSERT_EQ(runtime::OutputsOf(**replayer, graph.outputs.size()),
                    runtime::Expected(graph, bound, &threads))
              << "call " << call;
        }
        waits[static_cast<int>(decides)] += fake->calls("cuStreamSynchronize") +
                                            fake->calls("cuEventSynchronize");
        decided += fake->calls("cuGraphAddNode");
      }
      EXPECT_EQ(fake->leaks(), Leaks());
    }
  }
  std::cout << decided << " conditional nodes; " << waits[0]
            << " waits of the host where it decides, " << waits[1]
            << " where they do of branches, " << waits[2] << " of loops too\n";
  EXPECT_GT(decided, 100);
  EXPECT_LT(waits[1], waits[0]);
  EXPECT_LT(waits[2], waits[1]);
}

// state = x; for (i = 0; i < limit; ++i) state = i < half ? -state : state + x
class Nested : public testing::Test {
 protected:
  Nested() : threads_(1) {
    runtime::TestGraph g{PoolId(1)};
    const SlotId x = g.Tensor(SlotRole::kInput, {16});
    const SlotId zero = g.Tensor(SlotRole::kInput, {1}, DType::kI64);
    const SlotId half = g.Tensor(SlotRole::kInput, {1}, DType::kI64);
    const SlotId limit = g.Tensor(SlotRole::kInput, {1}, DType::kI64);
    const SlotId out = g.Tensor(SlotRole::kOutput, {16});
    const SlotId state = g.Temp({16}), next = g.Temp({16});
    const SlotId i = g.Temp({1}, DType::kI64);
    const SlotId more = g.Temp({}, DType::kBool);
    const SlotId first = g.Temp({}, DType::kBool);
    g.Add({runtime::Copy{x, state}, {}});
    g.Add({runtime::Copy{zero, i}, {}});
    const auto plan = [&] { return AddPlan(&g.graph, {}); };
    Invoke loop, branch;
    loop.kind = InvokeKind::kWhile;
    for (Invoke* const invoke : {&loop, &branch}) {
      invoke->plans = {plan(), plan()};
    }
    g.Launch("less", {i, limit}, {more}, {}, loop.plans[0]);
    g.Launch("less", {i, half}, {first}, {}, loop.plans[1]);
    g.Launch("add", {state, x}, {next}, {}, branch.plans[0]);
    g.Launch("neg", {state}, {next}, {}, branch.plans[1]);
    branch.selector = first;
    branch.reads = {first, state, x};
    branch.writes = {next};
    g.Add({std::move(branch), {}}, loop.plans[1]);
    g.Launch("increment", {i}, {i}, {}, loop.plans[1]);
    loop.selector = more;
    loop.carried = {{state, next}};
    loop.reads = {state, i, limit, half, x};
    loop.writes = {state, i};
    g.Add({std::move(loop), {}});
    g.Add({runtime::Copy{state, out}, {}});
    for (runtime::Slot& slot : g.graph.slots) slot.pool = PoolId(1);
    ENCORE_CHECK_OK(
        runtime::AssignMemory(&g.graph, {.queued = {true}}).status());
    ENCORE_CHECK_OK(runtime::VerifyPlan(g.graph));
    graph_ = std::move(g.graph);
    for (int e = 0; e < 16; ++e) x_.push_back(static_cast<float>(e) - 5);
  }

  StatusOr<std::unique_ptr<Replayer>> Load(FakeDriver& fake, Decides decides) {
    ENCORE_ASSIGN_OR_RETURN(auto device, NewPlanDevice(fake.driver(), 0, "test",
                                                       {.decides = decides}));
    return runtime::NewReplayer(graph_, {std::move(device)}, &threads_);
  }
  // One call; its output is checked.
  Status Run(Replayer& replayer, int64_t half, int64_t limit) {
    const int64_t zero = 0;
    ENCORE_RETURN_IF_ERROR(replayer.BindHostInput(0, x_.data(), 64));
    ENCORE_RETURN_IF_ERROR(replayer.BindHostInput(1, &zero, 8));
    ENCORE_RETURN_IF_ERROR(replayer.BindHostInput(2, &half, 8));
    ENCORE_RETURN_IF_ERROR(replayer.BindHostInput(3, &limit, 8));
    ENCORE_RETURN_IF_ERROR(replayer.Replay());
    ENCORE_ASSIGN_OR_RETURN(const Literal out, replayer.CopyOutput(0));
    for (int e = 0; e < 16; ++e) {
      float expected = x_[e];
      for (int64_t i = 0; i < limit; ++i) {
        expected = i < half ? -expected : expected + x_[e];
      }
      EXPECT_EQ(out.AsDouble(e), expected) << half << " " << limit;
    }
    return OkStatus();
  }

  CompiledGraph graph_;
  ThreadPool threads_;
  std::vector<float> x_;
};

constexpr std::pair<int64_t, int64_t> kCalls[] = {
    {2, 5}, {2, 5}, {0, 3}, {4, 4}, {1, 0}, {3, 9}, {0, 0}, {5, 2}};

TEST_F(Nested, AreOneLaunch) {
  for (const Decides decides : {Decides::kNothing, Decides::kLoops}) {
    const auto fake = FakeDriver::New({.seed = 5});
    {
      const auto replayer = Load(*fake, decides);
      ASSERT_TRUE(replayer.ok()) << replayer.status();
      int call = 0;
      for (const auto& [half, limit] : kCalls) {
        fake->FailCall("", -1, Result::kSuccess);
        const Status status = Run(**replayer, half, limit);
        ASSERT_TRUE(status.ok()) << status;
        if (decides == Decides::kNothing || ++call < 4) continue;
        // Of the values that were bound nothing has changed but the bytes.
        EXPECT_EQ((*replayer)->recordings().recorded, 1);
      }
      if (decides == Decides::kNothing) continue;
      for (const char* function : {"cuGraphLaunch", "cuStreamSynchronize",
                                   "cuEventSynchronize", "cuLaunchKernel"}) {
        fake->FailCall(function, -1, Result::kSuccess);
      }
      ASSERT_TRUE((*replayer)->Replay().ok());
      EXPECT_EQ(fake->calls("cuGraphLaunch"), 1);
      EXPECT_EQ(fake->calls("cuStreamSynchronize"), 1);
      EXPECT_EQ(fake->calls("cuEventSynchronize"), 0);
      EXPECT_EQ(fake->calls("cuLaunchKernel"), 0);
    }
    EXPECT_EQ(fake->leaks(), Leaks());
  }
}

// Loops are the host's where nothing else is said, so that they can be ended.
TEST_F(Nested, ByDefaultLoopsCanBeCancelled) {
  const auto fake = FakeDriver::New({.seed = 10});
  {
    auto device = NewPlanDevice(fake->driver(), 0, "test", {});
    ASSERT_TRUE(device.ok());
    const auto replayer =
        runtime::NewReplayer(graph_, {*std::move(device)}, &threads_);
    ASSERT_TRUE(replayer.ok()) << replayer.status();
    for (int call = 0; call < 2; ++call) {
      ASSERT_TRUE(Run(**replayer, 2, 5).ok());
    }
    // Of the branches in it there are conditional nodes.
    EXPECT_GT(fake->calls("cuGraphAddNode"), 0);
    const int64_t half = 3, limit = 50000;
    ASSERT_TRUE((*replayer)->BindHostInput(2, &half, 8).ok());
    ASSERT_TRUE((*replayer)->BindHostInput(3, &limit, 8).ok());
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      (*replayer)->Cancel();
    });
    const Status status = (*replayer)->Replay();
    canceller.join();
    EXPECT_EQ(status.code(), StatusCode::kCancelled) << status;
    ASSERT_TRUE(Run(**replayer, 1, 3).ok());
  }
  EXPECT_EQ(fake->leaks(), Leaks());
}

// A plan may have an If of one branch; where another is asked for is for the
// host to find.
TEST(Decisions, ABranchThatIsNotThereIsAFault) {
  runtime::TestGraph g{PoolId(1)};
  const SlotId a = g.Tensor(SlotRole::kInput, {1}, DType::kI64);
  const SlotId b = g.Tensor(SlotRole::kInput, {1}, DType::kI64);
  const SlotId x = g.Tensor(SlotRole::kInput, {16});
  const SlotId out = g.Tensor(SlotRole::kOutput, {16});
  const SlotId is_less = g.Temp({}, DType::kBool);
  const SlotId made = g.Temp({16});
  g.Launch("less", {a, b}, {is_less});
  Invoke branch;
  branch.plans = {AddPlan(&g.graph, {})};
  g.Launch("neg", {x}, {made}, {}, branch.plans[0]);
  branch.selector = is_less;
  branch.reads = {is_less, x};
  branch.writes = {made};
  g.Add({std::move(branch), {}});
  g.Add({runtime::Copy{made, out}, {}});
  for (runtime::Slot& slot : g.graph.slots) slot.pool = PoolId(1);
  ASSERT_TRUE(runtime::AssignMemory(&g.graph, {.queued = {true}}).ok());
  ASSERT_TRUE(runtime::VerifyPlan(g.graph).ok());
  const auto fake = FakeDriver::New({.seed = 11});
  {
    auto device = NewPlanDevice(fake->driver(), 0, "test", {});
    ASSERT_TRUE(device.ok());
    ThreadPool threads(1);
    const auto replayer =
        runtime::NewReplayer(g.graph, {*std::move(device)}, &threads);
    ASSERT_TRUE(replayer.ok()) << replayer.status();
    const std::vector<float> values(16, 2);
    const int64_t zero = 0, one = 1;
    for (const bool is_there : {true, true, true, false}) {
      ASSERT_TRUE((*replayer)->BindHostInput(0, &zero, 8).ok());
      ASSERT_TRUE(
          (*replayer)->BindHostInput(1, is_there ? &zero : &one, 8).ok());
      ASSERT_TRUE((*replayer)->BindHostInput(2, values.data(), 64).ok());
      const Status status = (*replayer)->Replay();
      EXPECT_EQ(status.code(),
                is_there ? StatusCode::kOk : StatusCode::kOutOfRange)
          << status;
    }
    EXPECT_EQ(fake->calls("cuGraphAddNode"), 0);
  }
  EXPECT_EQ(fake->leaks(), Leaks());
}

// In a stream of the caller's, without a wait of the host.
TEST_F(Nested, AreEnqueued) {
  const auto fake = FakeDriver::New({.seed = 6});
  {
    const auto replayer = Load(*fake, Decides::kLoops);
    ASSERT_TRUE(replayer.ok());
    ASSERT_TRUE(Run(**replayer, 2, 5).ok());
    ASSERT_TRUE(Run(**replayer, 2, 5).ok());
    const auto caller = *(*replayer)->executable().devices()[0]->NewQueue();
    fake->FailCall("cuStreamSynchronize", -1, Result::kSuccess);
    ASSERT_TRUE((*replayer)->Enqueue(DeviceId(0), *caller).ok());
    ASSERT_TRUE((*replayer)->Enqueue(DeviceId(0), *caller).ok());
    EXPECT_EQ(fake->calls("cuStreamSynchronize"), 0);
    ASSERT_TRUE(caller->Synchronize().ok());
    EXPECT_EQ((*replayer)->CopyOutput(0)->AsDouble(0), x_[0] * 4);
  }
  EXPECT_EQ(fake->leaks(), Leaks());
}

// A status or right outputs, nothing left, and the next replayer is right.
TEST_F(Nested, AnyCallMayFail) {
  constexpr std::string_view kFunctions[] = {
#define ENCORE_CUDA_FUNCTION(name, ...) #name,
#include "encore/backends/cuda/driver/functions.def"
#undef ENCORE_CUDA_FUNCTION
  };
  const auto fake = FakeDriver::New({.seed = 7});
  const auto run = [&]() -> Status {
    ENCORE_ASSIGN_OR_RETURN(const auto replayer, Load(*fake, Decides::kLoops));
    for (int call = 0; call < 3; ++call) {
      ENCORE_RETURN_IF_ERROR(Run(*replayer, 1, 3));
    }
    return OkStatus();
  };
  int64_t made = 0, errors = 0;
  for (const std::string_view function : kFunctions) {
    for (int64_t k = 0; k < 60; ++k) {
      SCOPED_TRACE(std::string(function) + " " + std::to_string(k));
      fake->FailCall(function, k,
                     k % 2 == 0 ? Result::kUnknown : Result::kOutOfMemory);
      errors += !run().ok();
      const bool called = fake->calls(function) > k;
      fake->FailCall(function, -1, Result::kSuccess);
      EXPECT_EQ(fake->leaks(), Leaks());
      if (!called) break;
      ++made;
    }
    const Status again = run();
    ASSERT_TRUE(again.ok()) << function << ": " << again;
  }
  std::cout << made << " calls made to fail, " << errors << " were errors\n";
  EXPECT_GT(made, 150);
}

// What the driver says it cannot do, the host decides.
TEST_F(Nested, TheHostDecidesWhereTheDriverCannot) {
  for (const char* function :
       {"cuGraphConditionalHandleCreate", "cuGraphAddNode",
        "cuStreamBeginCaptureToGraph", "cuGraphInstantiateWithFlags",
        "cuModuleLoadDataEx"}) {
    SCOPED_TRACE(function);
    const auto fake = FakeDriver::New({.seed = 9});
    {
      // The kernels' module is loaded first, then what decides.
      const bool of_module = std::string_view(function) == "cuModuleLoadDataEx";
      fake->FailCall(function, of_module ? 1 : 0, Result::kNotSupported);
      const auto replayer = Load(*fake, Decides::kLoops);
      ASSERT_TRUE(replayer.ok()) << replayer.status();
      for (const auto& [half, limit] : kCalls) {
        const Status status = Run(**replayer, half, limit);
        ASSERT_TRUE(status.ok()) << status;
      }
      EXPECT_GT(fake->calls(function), of_module ? 1 : 0);
      EXPECT_EQ(
          fake->calls("cuGraphAddNode") > 0,
          std::string_view(function) != "cuModuleLoadDataEx" &&
              std::string_view(function) != "cuGraphConditionalHandleCreate");
    }
    EXPECT_EQ(fake->leaks(), Leaks());
  }
}

// A kernel that is lost in a body loses the device.
TEST_F(Nested, AnyWorkMayFail) {
  int64_t works = 0;
  for (int64_t k = -1; k < works; ++k) {
    const auto fake = FakeDriver::New({.seed = 8});
    {
      const auto replayer = Load(*fake, Decides::kLoops);
      ASSERT_TRUE(replayer.ok());
      ASSERT_TRUE(Run(**replayer, 1, 3).ok());
      ASSERT_TRUE(Run(**replayer, 1, 3).ok());
      fake->FailWork(k, Result::kLaunchFailed);
      const Status status = (*replayer)->Replay();
      if (k < 0) {
        works = fake->works();
        EXPECT_TRUE(status.ok()) << status;
      } else {
        EXPECT_FALSE(status.ok()) << k;
      }
    }
    EXPECT_EQ(fake->leaks(), Leaks()) << k;
  }
  EXPECT_GT(works, 10);
}

}  // namespace
}  // namespace encore::backends::cuda
