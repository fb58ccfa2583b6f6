#include "encore/runtime/replay/replayer.h"

#include <string>
#include <thread>
#include <vector>

#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

using Floats = std::vector<float>;

struct Loaded {
  std::shared_ptr<TestDevice> device;
  std::shared_ptr<const Executable> executable;
  std::shared_ptr<const Weights> weights;
};

class ReplayerTest : public testing::Test {
 protected:
  Loaded Load(TestGraph graph, std::vector<Blob> parameters = {}) {
    Loaded loaded;
    loaded.device = std::make_shared<TestDevice>();
    auto executable = Executable::Load(
        std::make_shared<CompiledGraph>(std::move(graph.graph)),
        {loaded.device}, &pool_);
    EXPECT_TRUE(executable.ok()) << executable.status();
    loaded.executable = *executable;
    auto weights = Weights::Prepare(loaded.executable, parameters, &pool_);
    EXPECT_TRUE(weights.ok()) << weights.status();
    loaded.weights = *weights;
    return loaded;
  }

  std::unique_ptr<Replayer> Make(const Loaded& loaded) {
    auto replayer = Replayer::Create(loaded.executable, loaded.weights, &pool_);
    EXPECT_TRUE(replayer.ok()) << replayer.status();
    return *std::move(replayer);
  }

  static Status Bind(Replayer& replayer, size_t i, const Floats& values,
                     std::vector<int64_t> dims = {}) {
    return replayer.BindInput(i, values.data(), values.size() * sizeof(float),
                              dims);
  }

  static Floats Output(Replayer& replayer, size_t i = 0) {
    const Replayer::Output output = replayer.output(i);
    const auto* data = static_cast<const float*>(output.data);
    return Floats(data, data + output.bytes / sizeof(float));
  }

  ThreadPool pool_{2};
};

TestGraph AddRelu() {
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {4});
  const SlotId y = g.Tensor(SlotRole::kInput, {4});
  const SlotId out = g.Tensor(SlotRole::kOutput, {4});
  const SlotId sum = g.Temp({4});
  const SlotId arena = g.Arena(64);
  g.Place(sum, arena, 0);
  g.Add({Allocate{kHostPool, arena, 64}, {}});
  g.Launch("add", {x, y}, {sum});
  g.Launch("relu", {sum}, {out});
  g.Add({Deallocate{kHostPool, arena}, {}});
  return g;
}

TEST_F(ReplayerTest, ReplaysIntoTheCallersMemory) {
  const Loaded loaded = Load(AddRelu());
  const auto replayer = Make(loaded);
  const Floats x = {1, -2, 3, -4}, y = {1, 1, -5, 5};
  Floats out(4);
  ASSERT_TRUE(Bind(*replayer, 0, x).ok());
  ASSERT_TRUE(Bind(*replayer, 1, y).ok());
  ASSERT_TRUE(replayer->BindOutput(0, out.data(), 16).ok());
  ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(out, (Floats{2, 0, 0, 1}));
  // Without a buffer of the caller's, the output is the replayer's.
  ASSERT_TRUE(replayer->BindOutput(0, nullptr, 0).ok());
  ASSERT_TRUE(Bind(*replayer, 1, x).ok());
  ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(Output(*replayer), (Floats{2, 0, 6, 0}));
  EXPECT_EQ(out, (Floats{2, 0, 0, 1}));
}

TEST_F(ReplayerTest, RefusesBuffersThatDoNotFit) {
  const Loaded loaded = Load(AddRelu());
  const auto replayer = Make(loaded);
  alignas(64) float x[8] = {};
  const std::vector<int64_t> wrong = {2, 2};
  EXPECT_EQ(replayer->BindInput(2, x, 16).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(replayer->BindInput(0, x, 12).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(replayer->BindInput(0, x, 16, wrong).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(replayer->BindInput(0, reinterpret_cast<char*>(x) + 2, 16).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(replayer->BindInput(0, nullptr, 16).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(replayer->BindOutput(0, x, 12).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(replayer->BindInput(0, x, 16).ok());
  ASSERT_TRUE(replayer->BindInput(1, x, 16).ok());
  ASSERT_TRUE(replayer->BindOutput(0, x + 2, 16).ok());
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(replayer->BindOutput(0, x + 4, 16).ok());
  EXPECT_TRUE(replayer->Replay().ok());
}

TEST_F(ReplayerTest, ConstantsParametersAndDerivedWeights) {
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {2});
  const SlotId w = g.Tensor(SlotRole::kParameter, {2});
  const SlotId packed = g.Tensor(SlotRole::kDerived, {2});
  const SlotId c = g.Constant({10, 20});
  const SlotId out = g.Tensor(SlotRole::kOutput, {2});
  g.graph.prepare = AddPlan(&g.graph, {});
  g.Launch("mul", {w, c}, {packed}, {}, g.graph.prepare);
  g.Launch("add", {x, packed}, {out});
  const Floats weights = {3, 4};
  const Loaded loaded =
      Load(std::move(g), {Blob::Copy(std::as_bytes(std::span(weights)))});
  const auto replayer = Make(loaded);
  const Floats value = {1, 2};
  ASSERT_TRUE(Bind(*replayer, 0, value).ok());
  ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(Output(*replayer), (Floats{31, 82}));

  const auto derived = loaded.weights->DerivedBytes(0);
  ASSERT_TRUE(derived.ok());
  const Blob stored = Blob::Copy(derived->bytes);
  const auto restored = Weights::Restore(
      loaded.executable,
      std::vector<Blob>{Blob::Copy(std::as_bytes(std::span(weights)))},
      std::vector<Blob>{stored});
  ASSERT_TRUE(restored.ok()) << restored.status();
  const auto again = *Replayer::Create(loaded.executable, *restored, &pool_);
  ASSERT_TRUE(Bind(*again, 0, value).ok());
  ASSERT_TRUE(again->Replay().ok());
  EXPECT_EQ(Output(*again), (Floats{31, 82}));
  EXPECT_FALSE(Weights::Restore(loaded.executable, {}, {}).ok());
}

TEST_F(ReplayerTest, SymbolicSizesFollowTheInputs) {
  TestGraph g;
  g.graph.symbols.push_back({.lower = 1, .upper = 8});
  const Dim n = Dim::OfSymbol(0);
  const SlotId x = g.Tensor(SlotRole::kInput, {n});
  const SlotId y = g.Tensor(SlotRole::kInput, {n});
  const SlotId out = g.Tensor(SlotRole::kOutput, {n});
  const SlotId sum = g.Temp({n});
  const SlotId arena = g.Arena(64);
  g.Place(sum, arena, 0);
  g.Add({Allocate{kHostPool, arena, 64}, {}});
  g.Launch("add", {x, y}, {sum});
  g.Launch("neg", {sum}, {out});
  g.Add({Deallocate{kHostPool, arena}, {}});
  const Loaded loaded = Load(std::move(g));
  const auto replayer = Make(loaded);
  for (const int64_t size : {3, 8, 1, 3}) {
    const Floats a(size, 2), b(size, 3);
    ASSERT_TRUE(Bind(*replayer, 0, a, {size}).ok());
    ASSERT_TRUE(Bind(*replayer, 1, b, {size}).ok());
    ASSERT_TRUE(replayer->Replay().ok());
    EXPECT_EQ(Output(*replayer), Floats(size, -5));
    EXPECT_EQ(replayer->output(0).dims[0], size);
  }
  const Floats a(4, 2), nine(9, 1);
  ASSERT_TRUE(Bind(*replayer, 0, a, {4}).ok());
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(Bind(*replayer, 0, nine, {9}).ok());
  ASSERT_TRUE(Bind(*replayer, 1, nine, {9}).ok());
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(Bind(*replayer, 0, a, {4}).ok());
  ASSERT_TRUE(Bind(*replayer, 1, a, {4}).ok());
  EXPECT_TRUE(replayer->Replay().ok());
}

// out = the elements of x that are not 0.
TestGraph NonZero() {
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {6});
  const SlotId count = g.Temp({1}, DType::kI64);
  g.graph.symbols.push_back({.lower = 0,
                             .upper = 6,
                             .source = SymbolInfo::Source::kSlot,
                             .index = count.value()});
  const Dim n = Dim::OfSymbol(0);
  const SlotId found = g.Temp({n});
  const SlotId out = g.Tensor(SlotRole::kOutput, {n});
  g.Add({Allocate{kHostPool, count, 8}, {}});
  g.Launch("count", {x}, {count});
  g.Add({Allocate{kHostPool, found, n * Dim(4)}, {}});
  g.Launch("compact", {x}, {found}, {n});
  g.Add({Allocate{kHostPool, out, n * Dim(4)}, {}});
  g.Launch("neg", {found}, {out});
  g.Add({Deallocate{kHostPool, found}, {}});
  g.Add({Deallocate{kHostPool, count}, {}});
  return g;
}

TEST_F(ReplayerTest, RunTimeSizesComeFromAWarmPool) {
  const Loaded loaded = Load(NonZero());
  const auto replayer = Make(loaded);
  for (const Floats& x : {Floats{0, 1, 0, 2, 3, 0}, Floats{0, 0, 0, 0, 0, 0},
                          Floats{1, 2, 3, 4, 5, 6}, Floats{0, 0, 9, 0, 0, 0}}) {
    ASSERT_TRUE(Bind(*replayer, 0, x).ok());
    ASSERT_TRUE(replayer->Replay().ok());
    Floats expected;
    for (const float v : x) {
      if (v != 0) expected.push_back(-v);
    }
    EXPECT_EQ(Output(*replayer), expected);
    EXPECT_LE(replayer->warm_pool_misses(), 2);
  }
  Floats small(2);
  const Floats x = {1, 2, 3, 0, 0, 0};
  ASSERT_TRUE(Bind(*replayer, 0, x).ok());
  ASSERT_TRUE(replayer->BindOutput(0, small.data(), 8).ok());
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kInvalidArgument);
}

TEST_F(ReplayerTest, IfRunsTheSelectedPlan) {
  TestGraph g;
  const SlotId c = g.Tensor(SlotRole::kInput, {}, DType::kI32);
  const SlotId x = g.Tensor(SlotRole::kInput, {2});
  const SlotId out = g.Tensor(SlotRole::kOutput, {2});
  const PlanId negative = AddPlan(&g.graph, {}),
               positive = AddPlan(&g.graph, {});
  g.Launch("neg", {x}, {out}, {}, negative);
  g.Launch("copy", {x}, {out}, {}, positive);
  Invoke invoke;
  invoke.plans = {negative, positive};
  invoke.selector = c;
  invoke.reads = {c, x};
  invoke.writes = {out};
  g.Add({invoke, {}});
  const Loaded loaded = Load(std::move(g));
  const auto replayer = Make(loaded);
  const Floats value = {1, 2};
  int32_t condition = 0;
  ASSERT_TRUE(replayer->BindInput(0, &condition, 4).ok());
  ASSERT_TRUE(Bind(*replayer, 1, value).ok());
  ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(Output(*replayer), (Floats{-1, -2}));
  condition = 1;
  ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(Output(*replayer), value);
  condition = 2;
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kOutOfRange);
  // A fault poisons this replayer, and only this one.
  condition = 1;
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kFailedPrecondition);
  const auto other = Make(loaded);
  ASSERT_TRUE(other->BindInput(0, &condition, 4).ok());
  ASSERT_TRUE(Bind(*other, 1, value).ok());
  EXPECT_TRUE(other->Replay().ok());
}

// out = x doubled `limit` times.
TestGraph Doubling() {
  TestGraph g;
  const SlotId limit = g.Tensor(SlotRole::kInput, {}, DType::kI64);
  const SlotId x = g.Tensor(SlotRole::kInput, {2});
  const SlotId zero = g.Tensor(SlotRole::kInput, {}, DType::kI64);
  const SlotId out = g.Tensor(SlotRole::kOutput, {2});
  const SlotId i = g.Temp({}, DType::kI64), state = g.Temp({2});
  const SlotId more = g.Temp({}, DType::kBool), next = g.Temp({2});
  const SlotId arena = g.Arena(256);
  int64_t offset = 0;
  for (const SlotId slot : {i, state, more, next}) {
    g.Place(slot, arena, offset);
    offset += 64;
  }
  const PlanId condition = AddPlan(&g.graph, {}), body = AddPlan(&g.graph, {});
  g.Launch("less", {i, limit}, {more}, {}, condition);
  g.Launch("add", {state, state}, {next}, {}, body);
  Launch increment;
  increment.program = g.Program("increment", 1, 1);
  increment.device = DeviceId(0);
  increment.reads = {i};
  increment.writes = {i};
  g.Add({increment, {}}, body);
  Invoke invoke;
  invoke.kind = InvokeKind::kWhile;
  invoke.plans = {condition, body};
  invoke.selector = more;
  invoke.carried = {{state, next}};
  invoke.reads = {i, limit, state};
  invoke.writes = {i, state};
  g.Add({Allocate{kHostPool, arena, 256}, {}});
  g.Add({Copy{zero, i}, {}});
  g.Add({Copy{x, state}, {}});
  g.Add({invoke, {}});
  g.Add({Copy{state, out}, {}});
  g.Add({Deallocate{kHostPool, arena}, {}});
  return g;
}

TEST_F(ReplayerTest, WhileCarriesItsState) {
  const Loaded loaded = Load(Doubling());
  const auto replayer = Make(loaded);
  const Floats x = {1, 3};
  const int64_t zero = 0;
  for (const int64_t limit : {0, 1, 5}) {
    ASSERT_TRUE(replayer->BindInput(0, &limit, 8).ok());
    ASSERT_TRUE(Bind(*replayer, 1, x).ok());
    ASSERT_TRUE(replayer->BindInput(2, &zero, 8).ok());
    ASSERT_TRUE(replayer->Replay().ok());
    const float factor = 1 << limit;
    EXPECT_EQ(Output(*replayer), (Floats{factor, 3 * factor}));
  }
}

// out[i] = sum of x[j] for j <= i (or >= i), row by row.
TestGraph RunningSum(bool reversed) {
  TestGraph g;
  g.graph.symbols.push_back({.lower = 0, .upper = 8});
  const Dim n = Dim::OfSymbol(0);
  const SlotId x = g.Tensor(SlotRole::kInput, {n, 2});
  const SlotId out = g.Tensor(SlotRole::kOutput, {n, 2});
  const SlotId state = g.Temp({2}), row = g.Temp({2}), sum = g.Temp({2});
  const SlotId arena = g.Arena(64);
  g.Place(state, arena, 0);
  g.Place(row, x, 0);
  g.Place(sum, out, 0);
  const PlanId body = AddPlan(&g.graph, {});
  g.Launch("add", {state, row}, {sum}, {}, body);
  Invoke invoke;
  invoke.kind = InvokeKind::kScan;
  invoke.plans = {body};
  invoke.trips = n;
  invoke.carried = {{state, sum}};
  invoke.scanned = {{x, row, reversed}, {out, sum, reversed}};
  invoke.reads = {x, state};
  invoke.writes = {out, state};
  g.Add({Allocate{kHostPool, arena, 64}, {}});
  g.Launch("fill", {}, {state}, {0});
  g.Add({invoke, {}});
  g.Add({Deallocate{kHostPool, arena}, {}});
  return g;
}

TEST_F(ReplayerTest, ScanWalksItsTensors) {
  const Floats x = {1, 2, 10, 20, 100, 200};
  const auto forward = Make(Load(RunningSum(false)));
  ASSERT_TRUE(Bind(*forward, 0, x, {3, 2}).ok());
  ASSERT_TRUE(forward->Replay().ok());
  EXPECT_EQ(Output(*forward), (Floats{1, 2, 11, 22, 111, 222}));
  // No trips: there is no element to be anywhere.
  ASSERT_TRUE(Bind(*forward, 0, {}, {0, 2}).ok());
  ASSERT_TRUE(forward->Replay().ok());
  EXPECT_EQ(Output(*forward), Floats());
  const auto backward = Make(Load(RunningSum(true)));
  ASSERT_TRUE(Bind(*backward, 0, x, {3, 2}).ok());
  ASSERT_TRUE(backward->Replay().ok());
  EXPECT_EQ(Output(*backward), (Floats{111, 222, 110, 220, 100, 200}));
}

TEST_F(ReplayerTest, CopiesBetweenPools) {
  const PoolId pool(1);
  TestGraph g(pool);
  const SlotId x = g.Tensor(SlotRole::kInput, {2});
  const SlotId w = g.Tensor(SlotRole::kParameter, {2});
  const SlotId out = g.Tensor(SlotRole::kOutput, {2});
  const SlotId c = g.Constant({5, 6});
  const SlotId dw = g.Tensor(SlotRole::kDerived, {2});
  const SlotId dx = g.Temp({2}), sum = g.Temp({2}), dout = g.Temp({2});
  for (const SlotId slot : {c, dw, dx, sum, dout}) {
    g.graph.slots[slot.value()].pool = pool;
  }
  g.graph.prepare = AddPlan(&g.graph, {});
  g.Add({Copy{w, dw}, {}}, g.graph.prepare);
  for (const SlotId slot : {dx, sum, dout}) {
    g.Add({Allocate{pool, slot, 8}, {}});
  }
  g.Add({Copy{x, dx}, {}});
  g.Launch("add", {dx, dw}, {sum});
  g.Launch("mul", {sum, c}, {dout});
  g.Add({Copy{dout, out}, {}});
  for (const SlotId slot : {dx, sum, dout}) {
    g.Add({Deallocate{pool, slot}, {}});
  }
  const Floats weights = {1, 2}, value = {10, 20};
  std::shared_ptr<TestDevice> device;
  {
    const Loaded loaded =
        Load(std::move(g), {Blob::Copy(std::as_bytes(std::span(weights)))});
    device = loaded.device;
    const auto replayer = Make(loaded);
    ASSERT_TRUE(Bind(*replayer, 0, value).ok());
    ASSERT_TRUE(replayer->Replay().ok());
    EXPECT_EQ(Output(*replayer), (Floats{55, 132}));
    const auto derived = loaded.weights->DerivedBytes(0);
    ASSERT_TRUE(derived.ok());
    const auto* floats = reinterpret_cast<const float*>(derived->bytes.data());
    EXPECT_EQ(Floats(floats, floats + 2), weights);
    EXPECT_EQ(device->live_blocks(), 5);
  }
  EXPECT_EQ(device->live_blocks(), 0);
}

TEST_F(ReplayerTest, HostObjects) {
  TestGraph g;
  const SlotId a = g.Tensor(SlotRole::kInput, {2}, DType::kString);
  const SlotId b = g.Tensor(SlotRole::kInput, {2}, DType::kString);
  const SlotId joined = g.Temp({2}, DType::kString);
  const SlotId out = g.Tensor(SlotRole::kOutput, {2}, DType::kString);
  g.Launch("concat_strings", {a, b}, {joined});
  g.Add({Copy{joined, out}, {}});
  const auto replayer = Make(Load(std::move(g)));
  const HostObject x{{Literal::Strings({2}, {"a", "b"})}};
  const HostObject y{{Literal::Strings({2}, {"1", "2"})}};
  ASSERT_TRUE(replayer->BindInput(0, &x).ok());
  ASSERT_TRUE(replayer->BindInput(1, &y).ok());
  EXPECT_FALSE(replayer->BindInput(1, "", 0).ok());
  EXPECT_FALSE(replayer->BindOutput(0, nullptr, 0).ok());
  ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(replayer->output(0).object->value.strings(),
            (std::vector<std::string>{"a1", "b2"}));
}

TEST_F(ReplayerTest, ManyReplaysAtOnce) {
  TestGraph g;
  const SlotId x = g.Tensor(SlotRole::kInput, {1000});
  const SlotId out = g.Tensor(SlotRole::kOutput, {1000});
  const SlotId t = g.Temp({1000});
  g.Add({Allocate{kHostPool, t, 4000}, {}});
  g.Launch("sum_parallel", {x}, {t});
  g.Launch("neg", {t}, {out});
  g.Add({Deallocate{kHostPool, t}, {}});
  const Loaded loaded = Load(std::move(g));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const auto replayer = Make(loaded);
      for (int round = 0; round < 50; ++round) {
        const Floats value(1000, thread * 100 + round);
        Floats result(1000);
        ASSERT_TRUE(Bind(*replayer, 0, value).ok());
        ASSERT_TRUE(replayer->BindOutput(0, result.data(), 4000).ok());
        ASSERT_TRUE(replayer->Replay().ok());
        EXPECT_EQ(result, Floats(1000, -value[0]));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ReplayerTest, ProfilesNamesAndTimes) {
  const Loaded loaded = Load(AddRelu());
  const auto replayer = Make(loaded);
  const Floats x = {1, 2, 3, 4};
  ASSERT_TRUE(Bind(*replayer, 0, x).ok());
  ASSERT_TRUE(Bind(*replayer, 1, x).ok());
  Profiler profiler(5);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(replayer->Replay(&profiler).ok());
  EXPECT_EQ(profiler.records().size(), 5u);
  EXPECT_EQ(profiler.dropped(), 1);
  EXPECT_EQ(profiler.records()[0].step, 1u);
  EXPECT_EQ(profiler.Totals().size(), 2u);
  const std::string trace = profiler.ChromeTrace(loaded.executable->graph());
  EXPECT_NE(trace.find("\"name\":\"launch test:add\""), std::string::npos);
}

}  // namespace
}  // namespace encore::runtime
