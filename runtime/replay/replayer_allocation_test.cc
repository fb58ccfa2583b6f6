// Counts heap allocations on the replay path through operator new.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "encore/ir/support/integers.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/replay/host_object.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace {

std::atomic<int64_t> allocations = 0;

void* Counted(size_t bytes, size_t alignment) {
  ++allocations;
  void* data = std::aligned_alloc(alignment, encore::RoundUp(bytes, alignment));
  if (data == nullptr) std::abort();
  return data;
}

}  // namespace

void* operator new(size_t bytes) { return Counted(bytes, 16); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return Counted(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, size_t) noexcept { std::free(data); }
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, size_t, std::align_val_t) noexcept {
  std::free(data);
}

namespace encore::runtime {
namespace {

std::unique_ptr<Replayer> Load(TestGraph g, ThreadPool* pool) {
  EXPECT_TRUE(AssignMemory(&g.graph).ok());
  auto executable =
      *Executable::Load(std::make_shared<CompiledGraph>(std::move(g.graph)),
                        {std::make_shared<TestDevice>()}, pool);
  auto weights = *Weights::Prepare(executable, {}, pool);
  return *Replayer::Create(executable, weights, pool);
}

TEST(ReplayerAllocation, ReplayingAllocatesNothing) {
  ThreadPool pool(2);
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {64});
  const SlotId out = g.Tensor(SlotRole::kOutput, {64});
  SlotId last = x;
  for (int i = 0; i < 50; ++i) {
    const SlotId next = g.Temp({64});
    g.Launch(i % 2 == 0 ? "neg" : "sum_parallel", {last}, {next});
    last = next;
  }
  g.Add({Copy{last, out}, {}});
  const auto replayer = Load(std::move(g), &pool);
  std::vector<float> a(64, 1), b(64, 2), result(64);
  Profiler profiler(100);
  const auto call = [&](std::vector<float>& value, Profiler* p) {
    ASSERT_TRUE(replayer->BindInput(0, value.data(), 256).ok());
    ASSERT_TRUE(replayer->BindOutput(0, result.data(), 256).ok());
    ASSERT_TRUE(replayer->Replay(p).ok());
  };
  call(a, nullptr);
  const int64_t before = allocations;
  for (int i = 0; i < 100; ++i) {
    call(a, nullptr);
    call(b, i < 3 ? &profiler : nullptr);
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(result[0], -2);
}

// How many allocations 100 replays make, once one is done.
int64_t AllocationsOfReplays(Replayer& replayer) {
  EXPECT_TRUE(replayer.Replay().ok());
  const int64_t before = allocations;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(replayer.Replay().ok());
  return allocations - before;
}

std::vector<float> Output(Replayer& replayer) {
  const auto* data = static_cast<const float*>(replayer.output(0).data);
  return {data, data + replayer.output(0).bytes / sizeof(float)};
}

TEST(ReplayerAllocation, ViewsAllocateNothing) {
  ThreadPool pool(1);
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {32});
  const SlotId kept = g.Temp({32}), quarter = g.Temp({8});
  const SlotId out = g.Tensor(SlotRole::kOutput, {8});
  const SlotId tail = g.Temp({8});
  g.Place(quarter, kept, 96);
  g.Place(tail, x, 96);
  g.Launch("neg", {x}, {kept});
  g.Launch("add", {quarter, tail}, {out});
  const auto replayer = Load(std::move(g), &pool);
  std::vector<float> value(32, 3);
  ASSERT_TRUE(replayer->BindInput(0, value.data(), 128).ok());
  EXPECT_EQ(AllocationsOfReplays(*replayer), 0);
  EXPECT_EQ(Output(*replayer), std::vector<float>(8, 0));
}

// An If that chooses what a While adds up, and a Scan over the sum.
TestGraph ControlFlow() {
  TestGraph g;
  const SlotId choice = g.Tensor(SlotRole::kInput, {}, DType::kI32);
  const SlotId zero = g.Tensor(SlotRole::kInput, {}, DType::kI64);
  const SlotId limit = g.Tensor(SlotRole::kInput, {}, DType::kI64);
  const SlotId x = g.Tensor(SlotRole::kInput, {8});
  const SlotId out = g.Tensor(SlotRole::kOutput, {8});

  const SlotId chosen = g.Temp({8});
  Invoke branch;
  branch.plans = {AddPlan(&g.graph, {}), AddPlan(&g.graph, {})};
  branch.selector = choice;
  branch.reads = {choice, x};
  branch.writes = {chosen};
  g.Launch("neg", {x}, {chosen}, {}, branch.plans[0]);
  g.Launch("copy", {x}, {chosen}, {}, branch.plans[1]);
  g.Add({branch, {}});

  const SlotId i = g.Temp({}, DType::kI64), more = g.Temp({}, DType::kBool);
  const SlotId state = g.Temp({8}), next = g.Temp({8});
  Invoke loop;
  loop.kind = InvokeKind::kWhile;
  loop.plans = {AddPlan(&g.graph, {}), AddPlan(&g.graph, {})};
  loop.selector = more;
  loop.carried = {{state, next}};
  loop.reads = {i, limit, state, chosen};
  loop.writes = {i, state};
  g.Add({Copy{zero, i}, {}});
  g.Launch("fill", {}, {state}, {Dim(0)});
  g.Launch("less", {i, limit}, {more}, {}, loop.plans[0]);
  g.Launch("add", {state, chosen}, {next}, {}, loop.plans[1]);
  Launch increment;
  increment.binary = g.Binary("increment", 1, 1);
  increment.device = DeviceId(0);
  increment.reads = increment.writes = {i};
  g.Add({increment, {}}, loop.plans[1]);
  g.Add({loop, {}});

  const SlotId part = g.Temp({2}), result = g.Temp({2});
  g.Place(part, state, 0);
  g.Place(result, out, 0);
  Invoke scan;
  scan.kind = InvokeKind::kScan;
  scan.plans = {AddPlan(&g.graph, {})};
  scan.trips = 4;
  scan.scanned = {{state, part, false}, {out, result, true}};
  scan.reads = {state};
  scan.writes = {out};
  g.Launch("neg", {part}, {result}, {}, scan.plans[0]);
  g.Add({scan, {}});
  return g;
}

TEST(ReplayerAllocation, ControlFlowAllocatesNothing) {
  ThreadPool pool(1);
  const auto replayer = Load(ControlFlow(), &pool);
  int32_t choice = 1;
  int64_t zero = 0, limit = 5;
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_TRUE(replayer->BindInput(0, &choice, 4).ok());
  ASSERT_TRUE(replayer->BindInput(1, &zero, 8).ok());
  ASSERT_TRUE(replayer->BindInput(2, &limit, 8).ok());
  ASSERT_TRUE(replayer->BindInput(3, x.data(), 32).ok());
  EXPECT_EQ(AllocationsOfReplays(*replayer), 0);
  EXPECT_EQ(Output(*replayer),
            (std::vector<float>{-35, -40, -25, -30, -15, -20, -5, -10}));
  choice = 0;
  limit = 50;
  EXPECT_EQ(AllocationsOfReplays(*replayer), 0);
  EXPECT_EQ(Output(*replayer)[1], 400);
}

TEST(ReplayerAllocation, CopiesBetweenPoolsAllocateNothing) {
  ThreadPool pool(1);
  const PoolId other(1);
  TestGraph g(other);
  const SlotId x = g.Tensor(SlotRole::kInput, {4});
  const SlotId out = g.Tensor(SlotRole::kOutput, {4});
  const SlotId in = g.Temp({4}), twin = g.Temp({4}), sum = g.Temp({4});
  for (const SlotId slot : {in, twin, sum}) {
    g.graph.slots[slot.value()].pool = other;
  }
  g.Add({Copy{x, in}, {}});
  g.Add({Copy{in, twin}, {}});
  g.Launch("add", {in, twin}, {sum});
  g.Add({Copy{sum, out}, {}});
  const auto replayer = Load(std::move(g), &pool);
  std::vector<float> value(4, 1.5f);
  ASSERT_TRUE(replayer->BindInput(0, value.data(), 16).ok());
  EXPECT_EQ(AllocationsOfReplays(*replayer), 0);
  EXPECT_EQ(Output(*replayer), std::vector<float>(4, 3));
}

// Copied, handed to kernels, and carried around a loop, whose end is their
// copy.
TEST(ReplayerAllocation, HostObjectsAreCopiedAndMovedWithoutAllocating) {
  ThreadPool pool(1);
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {2}, DType::kString);
  const SlotId out = g.Tensor(SlotRole::kOutput, {2}, DType::kString);
  const SlotId count = g.Tensor(SlotRole::kOutput, {}, DType::kI64);
  const SlotId state = g.Temp({2}, DType::kString);
  const SlotId next = g.Temp({2}, DType::kString);
  g.Add({Copy{x, state}, {}});
  Invoke loop;
  loop.kind = InvokeKind::kScan;
  loop.plans = {AddPlan(&g.graph, {})};
  loop.trips = 3;
  loop.carried = {{state, next}};
  loop.reads = loop.writes = {state};
  g.Launch("exchange", {state}, {state, next}, {}, loop.plans[0]);
  g.Add({loop, {}});
  g.Launch("count_strings", {state}, {count});
  g.Add({Copy{state, out}, {}});
  const auto replayer = Load(std::move(g), &pool);
  const HostObject value{{Literal::Strings({2}, {"a", "b"})}};
  ASSERT_TRUE(replayer->BindInput(0, &value).ok());
  EXPECT_EQ(AllocationsOfReplays(*replayer), 0);
  EXPECT_EQ(*replayer->output(0).object, value);
  EXPECT_EQ(*static_cast<const int64_t*>(replayer->output(1).data), 2);
}

TEST(ReplayerAllocation, RunTimeSizesAllocateOnlyWhileThePoolIsCold) {
  ThreadPool pool(1);
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {6});
  const SlotId count = g.Temp({1}, DType::kI64);
  g.graph.symbols.push_back({.lower = 0,
                             .upper = 6,
                             .source = SymbolInfo::Source::kSlot,
                             .index = count.value()});
  const Dim n = Dim::OfSymbol(0) * Dim(100);  // more than one size class
  const SlotId found = g.Temp({n});
  const SlotId out = g.Tensor(SlotRole::kOutput, {1});
  g.Launch("count", {x}, {count});
  g.Launch("fill", {}, {found}, {n});
  g.Launch("copy", {x}, {out});
  // Sizes without an upper bound get memory at run time.
  g.graph.symbols[0].upper = INT64_MAX;
  const auto replayer = Load(std::move(g), &pool);
  std::vector<float> values(6);
  ASSERT_TRUE(replayer->BindInput(0, values.data(), 24).ok());
  for (int i = 0; i <= 6; ++i) {
    std::fill_n(values.begin(), i, 1.0f);
    ASSERT_TRUE(replayer->Replay().ok());
  }
  const int64_t cold = replayer->warm_pool_misses();
  EXPECT_GT(cold, 0);
  const int64_t before = allocations;
  for (int i = 0; i < 100; ++i) {
    values.assign(6, 0);
    std::fill_n(values.begin(), i % 7, 1.0f);
    ASSERT_TRUE(replayer->Replay().ok());
  }
  EXPECT_EQ(replayer->warm_pool_misses(), cold);
  EXPECT_EQ(allocations - before, 0);
}

}  // namespace
}  // namespace encore::runtime
