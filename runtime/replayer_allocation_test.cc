// Counts heap allocations on the replay path through operator new.
#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "encore/runtime/assign_memory.h"
#include "encore/runtime/replayer.h"
#include "encore/runtime/test_device.h"
#include "gtest/gtest.h"

namespace {

std::atomic<int64_t> allocations = 0;

void* Counted(size_t bytes, size_t alignment) {
  ++allocations;
  void* data = std::aligned_alloc(
      alignment, (bytes + alignment - 1) / alignment * alignment);
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
