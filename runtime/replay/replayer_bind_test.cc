// Bindings that do not fit.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "encore/ir/types/literal.h"
#include "encore/runtime/replay/host_object.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

using Floats = std::vector<float>;

std::unique_ptr<Replayer> Load(TestGraph g, ThreadPool* pool) {
  auto executable =
      *Executable::Load(std::make_shared<CompiledGraph>(std::move(g.graph)),
                        {std::make_shared<TestDevice>()}, pool);
  auto weights = *Weights::Prepare(executable, {}, pool);
  return *Replayer::Create(std::move(executable), std::move(weights), pool);
}

// What does not fit, in every way, each noticed at a different place.
TEST(ReplayerBind, ABindThatFailsChangesNothing) {
  TestGraph g;
  g.graph.symbols.push_back({.lower = 1, .upper = 8});
  const Dim n = Dim::OfSymbol(0);
  const SlotId x = g.Tensor(SlotRole::kInput, {n, 2});
  const SlotId y = g.Tensor(SlotRole::kInput, {n, 2});
  const SlotId text = g.Tensor(SlotRole::kInput, {n}, DType::kString);
  const SlotId out = g.Tensor(SlotRole::kOutput, {n, 2});
  const SlotId copy = g.Tensor(SlotRole::kOutput, {n}, DType::kString);
  g.Launch("add", {x, y}, {out});
  g.Add({Copy{text, copy}, {}});
  ThreadPool pool(1);
  const auto replayer = Load(std::move(g), &pool);
  const Floats two(4, 2), three(4, 3), other(16, 9);
  Floats sum(4);
  const HostObject words{{Literal::Strings({2}, {"a", "b"})}};
  const HostObject more{{Literal::Strings({3}, {"c", "d", "e"})}};
  const HostObject matrix{{Literal::Strings({2, 1}, {"f", "g"})}};
  const auto bind = [&](size_t i, const void* data, int64_t bytes,
                        std::vector<int64_t> dims) {
    return replayer->BindInput(i, data, bytes, dims);
  };
  ASSERT_TRUE(bind(0, two.data(), 16, {2, 2}).ok());
  ASSERT_TRUE(bind(1, three.data(), 16, {2, 2}).ok());
  ASSERT_TRUE(replayer->BindInput(2, &words).ok());
  ASSERT_TRUE(replayer->BindOutput(0, sum.data(), 16).ok());
  ASSERT_TRUE(replayer->Replay().ok());
  const auto expect_as_before = [&](const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(replayer->output(0).dims[0], 2);
    std::ranges::fill(sum, 0);
    const Status replayed = replayer->Replay();
    EXPECT_TRUE(replayed.ok()) << status << ": " << replayed;
    EXPECT_EQ(sum, Floats(4, 5));
    EXPECT_EQ(replayer->output(1).object->value, words.value);
  };
  expect_as_before(bind(0, other.data(), 16, {3, 2}));
  expect_as_before(bind(0, other.data(), 24, {}));
  expect_as_before(bind(0, other.data(), 24, {2, 3}));
  expect_as_before(bind(0, other.data(), 24, {6}));
  expect_as_before(bind(1, nullptr, 24, {3, 2}));
  expect_as_before(
      bind(1, reinterpret_cast<const char*>(other.data()) + 1, 24, {3, 2}));
  expect_as_before(bind(0, other.data(), -8, {-1, 2}));
  expect_as_before(bind(0, other.data(), 8, {int64_t{1} << 62, 2}));
  expect_as_before(bind(2, other.data(), 12, {3}));
  expect_as_before(bind(3, other.data(), 16, {2, 2}));
  expect_as_before(replayer->BindInput(0, &more));
  expect_as_before(replayer->BindInput(2, nullptr));
  expect_as_before(replayer->BindInput(2, &matrix));
  expect_as_before(replayer->BindOutput(0, sum.data(), -1));
  expect_as_before(
      replayer->BindOutput(0, reinterpret_cast<char*>(sum.data()) + 1, 64));
  expect_as_before(replayer->BindOutput(1, sum.data(), 16));
  expect_as_before(replayer->BindOutput(2, sum.data(), 16));
}

// A tensor may have a size that is known and dims that are not.
TEST(ReplayerBind, OpenDimsAreNeededEvenWhereTheSizeIsKnown) {
  TestGraph g;
  g.graph.symbols.push_back({.lower = 0, .upper = 8});
  const Dim n = Dim::OfSymbol(0);
  const SlotId x = g.Tensor(SlotRole::kInput, {n, 0});
  const SlotId out = g.Tensor(SlotRole::kOutput, {n, 0});
  g.Add({Copy{x, out}, {}});
  ThreadPool pool(1);
  const auto replayer = Load(std::move(g), &pool);
  EXPECT_EQ(replayer->BindInput(0, nullptr, 0).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(replayer->Replay().code(), StatusCode::kFailedPrecondition);
  const std::vector<int64_t> dims = {3, 0};
  ASSERT_TRUE(replayer->BindInput(0, nullptr, 0, dims).ok());
  ASSERT_TRUE(replayer->Replay().ok());
  EXPECT_EQ(replayer->output(0).dims[0], 3);
}

}  // namespace
}  // namespace encore::runtime
