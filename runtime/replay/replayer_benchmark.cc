// What replaying costs beside the kernels: a step, and a whole call.
//
//   bazel run -c opt //runtime/replay:replayer_benchmark
#include <memory>
#include <vector>

#include "benchmark/benchmark.h"
#include "encore/ir/support/check.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/testing/test_device.h"

namespace encore::runtime {
namespace {

std::unique_ptr<Replayer> Load(TestGraph g, ThreadPool* pool) {
  ENCORE_CHECK_OK(AssignMemory(&g.graph).status());
  auto executable =
      *Executable::Load(std::make_shared<CompiledGraph>(std::move(g.graph)),
                        {std::make_shared<TestDevice>()}, pool);
  auto weights = *Weights::Prepare(executable, {}, pool);
  return *Replayer::Create(executable, weights, pool);
}

// One add of 4 floats, binding included.
void BM_OneAdd(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {4});
  const SlotId y = g.Tensor(SlotRole::kInput, {4});
  const SlotId out = g.Tensor(SlotRole::kOutput, {4});
  g.Launch("add", {x, y}, {out});
  const auto replayer = Load(std::move(g), &pool);
  alignas(64) float a[4] = {}, b[4] = {}, c[4];
  for (auto _ : state) {
    ENCORE_CHECK_OK(replayer->BindInput(0, a, sizeof(a)));
    ENCORE_CHECK_OK(replayer->BindInput(1, b, sizeof(b)));
    ENCORE_CHECK_OK(replayer->BindOutput(0, c, sizeof(c)));
    ENCORE_CHECK_OK(replayer->Replay());
  }
}
BENCHMARK(BM_OneAdd)->Arg(1)->Arg(2);

// 1,000 steps on one float each.
void BM_ThousandSteps(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  TestGraph g;
  SlotId last = g.Tensor(SlotRole::kInput, {1});
  for (int i = 1; i < 1000; ++i) {
    const SlotId next = g.Temp({1});
    g.Launch("relu", {last}, {next});
    last = next;
  }
  g.Launch("relu", {last}, {g.Tensor(SlotRole::kOutput, {1})});
  const auto replayer = Load(std::move(g), &pool);
  alignas(64) float x = 1, y;
  ENCORE_CHECK_OK(replayer->BindInput(0, &x, sizeof(x)));
  ENCORE_CHECK_OK(replayer->BindOutput(0, &y, sizeof(y)));
  for (auto _ : state) ENCORE_CHECK_OK(replayer->Replay());
}
BENCHMARK(BM_ThousandSteps)->Arg(1)->Arg(2);

// The same kernels called in a loop by hand: what a step cannot be below.
void BM_ThousandCallsByHand(benchmark::State& state) {
  ThreadPool pool(1);
  TestDevice device;
  KernelBinary binary;
  binary.entry = "relu";
  const LoadRequest request{&binary, {}};
  const auto kernels = *device.Load({&request, 1}, &pool);
  alignas(64) float values[2] = {1, 0};
  void* buffers[2] = {&values[0], &values[1]};
  const int64_t sizes[2] = {4, 4};
  LaunchContext context;
  context.buffers = buffers;
  context.sizes = sizes;
  context.threads = &pool;
  for (auto _ : state) {
    for (int i = 0; i < 1000; ++i) {
      ENCORE_CHECK_OK(kernels[0]->Launch(context));
    }
  }
}
BENCHMARK(BM_ThousandCallsByHand);

// 16 empty partitions on awake helpers.
void BM_ParallelFor(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  ThreadPool::Caller caller(pool);
  for (auto _ : state) pool.ParallelFor(16, [](int64_t) {});
}
BENCHMARK(BM_ParallelFor)->Arg(1)->Arg(2);

}  // namespace
}  // namespace encore::runtime
