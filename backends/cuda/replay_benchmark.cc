// What a recorded replay costs on the host beside the driver: the calls of the
// steady state are replaced by ones that do nothing.
//
//   bazel run -c opt //backends/cuda:replay_benchmark
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "benchmark/benchmark.h"
#include "encore/backends/cuda/driver/driver.h"
#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/fake/fake_driver.h"
#include "encore/backends/cuda/testing/plan_device.h"
#include "encore/ir/support/check.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/replay/weights.h"
#include "encore/runtime/testing/test_device.h"

namespace encore::backends::cuda {
namespace {

// Whether calls are passed on to the driver that executes.
bool passed_on = true;
DriverTable passed;

Result Launch(CUgraphExec executable, CUstream stream) {
  return passed_on ? passed.cuGraphLaunch(executable, stream)
                   : Result::kSuccess;
}
Result Synchronize(CUstream stream) {
  return passed_on ? passed.cuStreamSynchronize(stream) : Result::kSuccess;
}
Result Record(CUevent event, CUstream stream) {
  return passed_on ? passed.cuEventRecord(event, stream) : Result::kSuccess;
}
Result SetParams(CUgraphExec executable, CUgraphNode node,
                 const KernelNodeParams* params) {
  return passed_on
             ? passed.cuGraphExecKernelNodeSetParams(executable, node, params)
             : Result::kSuccess;
}
CUcontext current = nullptr;
Result GetCurrent(CUcontext* context) {
  *context = current;
  return Result::kSuccess;
}
Result SetCurrent(CUcontext context) {
  current = context;
  return passed.cuCtxSetCurrent(context);
}

template <typename F>
bool Replace(std::string_view symbol, std::string_view name, F& original,
             F replacement, void** function) {
  if (symbol != name) return false;
  std::memcpy(&original, function, sizeof(original));
  *function = reinterpret_cast<void*>(replacement);
  return true;
}

Result Find(const char* symbol, void** function, int version, cuuint64_t flags,
            uint32_t* found) {
  const Result result =
      fake::FakeDriver::Find(symbol, function, version, flags, found);
  (void)(Replace(symbol, "cuGraphLaunch", passed.cuGraphLaunch, Launch,
                 function) ||
         Replace(symbol, "cuStreamSynchronize", passed.cuStreamSynchronize,
                 Synchronize, function) ||
         Replace(symbol, "cuEventRecord", passed.cuEventRecord, Record,
                 function) ||
         Replace(symbol, "cuGraphExecKernelNodeSetParams",
                 passed.cuGraphExecKernelNodeSetParams, SetParams, function) ||
         Replace(symbol, "cuCtxGetCurrent", passed.cuCtxGetCurrent, GetCurrent,
                 function) ||
         Replace(symbol, "cuCtxSetCurrent", passed.cuCtxSetCurrent, SetCurrent,
                 function));
  return result;
}

// A chain of kernels in device memory, recorded.
struct Chain {
  std::shared_ptr<fake::FakeDriver> fake =
      fake::FakeDriver::New({.run_kernels = false});
  std::shared_ptr<runtime::Device> device;
  runtime::ThreadPool threads{1};
  std::unique_ptr<runtime::Replayer> replayer;
  std::array<void*, 2> inputs = {};

  explicit Chain(int64_t kernels) {
    auto driver = Driver::Bind(&Find, "a driver that does nothing");
    ENCORE_CHECK_OK(driver.status());
    auto made = NewPlanDevice(*driver, 0, "test");
    ENCORE_CHECK_OK(made.status());
    device = *std::move(made);
    const runtime::PoolId pool(1);
    runtime::TestGraph g(pool);
    runtime::SlotId last = g.Tensor(runtime::SlotRole::kInput, {16});
    for (int64_t i = 1; i < kernels; ++i) {
      const runtime::SlotId next = g.Temp({16});
      g.Launch("neg", {last}, {next});
      last = next;
    }
    g.Launch("neg", {last}, {g.Tensor(runtime::SlotRole::kOutput, {16})});
    for (runtime::Slot& slot : g.graph.slots) slot.pool = pool;
    ENCORE_CHECK_OK(
        runtime::AssignMemory(&g.graph, {.queued = {true}}).status());
    auto executable = *runtime::Executable::Load(
        std::make_shared<runtime::CompiledGraph>(std::move(g.graph)), {device},
        &threads);
    auto weights = *runtime::Weights::Prepare(executable, {}, &threads);
    replayer = *runtime::Replayer::Create(executable, weights, &threads);
    for (void*& input : inputs) input = *device->Allocate(64);
    ENCORE_CHECK_OK(replayer->BindInput(0, inputs[0], 64));
    for (int i = 0; i < 3; ++i) ENCORE_CHECK_OK(replayer->Replay());
    ENCORE_CHECK_EQ(replayer->recordings().recorded, 1);
    passed_on = false;
  }
  ~Chain() {
    passed_on = true;
    for (void* const input : inputs) device->Deallocate(input, 64);
  }
};

void BM_Replay(benchmark::State& state) {
  const Chain chain(state.range(0));
  for (auto _ : state) ENCORE_CHECK_OK(chain.replayer->Replay());
}
BENCHMARK(BM_Replay)->Arg(2)->Arg(100)->Arg(1000);

void BM_ReplayBoundAgain(benchmark::State& state) {
  const Chain chain(state.range(0));
  for (auto _ : state) {
    ENCORE_CHECK_OK(chain.replayer->BindInput(0, chain.inputs[0], 64));
    ENCORE_CHECK_OK(chain.replayer->Replay());
  }
}
BENCHMARK(BM_ReplayBoundAgain)->Arg(2)->Arg(100)->Arg(1000);

// Another input each time: one kernel changed.
void BM_ReplayOfOtherMemory(benchmark::State& state) {
  const Chain chain(state.range(0));
  size_t i = 0;
  for (auto _ : state) {
    i = 1 - i;
    ENCORE_CHECK_OK(chain.replayer->BindInput(0, chain.inputs[i], 64));
    ENCORE_CHECK_OK(chain.replayer->Replay());
  }
}
BENCHMARK(BM_ReplayOfOtherMemory)->Arg(2)->Arg(100)->Arg(1000);

void BM_Enqueue(benchmark::State& state) {
  const Chain chain(state.range(0));
  const auto caller = *chain.device->NewQueue();
  for (auto _ : state) {
    ENCORE_CHECK_OK(chain.replayer->Enqueue(runtime::DeviceId(0), *caller));
  }
  ENCORE_CHECK_OK(caller->Synchronize());
  ENCORE_CHECK_OK(chain.replayer->Synchronize());
}
BENCHMARK(BM_Enqueue)->Arg(2)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace encore::backends::cuda
