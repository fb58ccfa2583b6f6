// One buffer for an input and an output.
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/ir/types/shape.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

using Floats = std::vector<float>;

// A plan over x, y -> out, z, of 4 elements each; z is another output.
struct Sample {
  TestGraph g;
  SlotId x = g.Tensor(SlotRole::kInput, Shape({4}));
  SlotId y = g.Tensor(SlotRole::kInput, Shape({4}));
  SlotId out = g.Tensor(SlotRole::kOutput, Shape({4}));
  SlotId z = g.Tensor(SlotRole::kOutput, Shape({4}));

  Launch& last_launch() {
    return std::get<Launch>(g.graph.plans[g.run.value()].steps.back().op);
  }
};

// Runs with x and out in one buffer: the buffer after it, and z.
StatusOr<std::pair<Floats, Floats>> Shared(Sample sample) {
  ThreadPool pool(1);
  auto executable = *Executable::Load(
      std::make_shared<CompiledGraph>(std::move(sample.g.graph)),
      {std::make_shared<TestDevice>()}, &pool);
  auto weights = *Weights::Prepare(executable, {}, &pool);
  const auto replayer = *Replayer::Create(executable, weights, &pool);
  Floats buffer = {1, 2, 3, 4}, z(4);
  const Floats y = {10, 20, 30, 40};
  const auto bind = [&](Status status) { EXPECT_TRUE(status.ok()) << status; };
  bind(replayer->BindInput(0, buffer.data(), 16));
  bind(replayer->BindInput(1, y.data(), 16));
  bind(replayer->BindOutput(0, buffer.data(), 16));
  bind(replayer->BindOutput(1, z.data(), 16));
  if (const Status status = replayer->Replay(); !status.ok()) return status;
  return std::pair(buffer, z);
}

void ExpectRefused(Sample sample) {
  const auto got = Shared(std::move(sample));
  EXPECT_EQ(got.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(StrCat(got.status())
                .find("the buffer of output 0 overlaps that of input 0, which "
                      "may be read"),
            std::string::npos)
      << got.status();
}

// As a cache is updated: all of it copied, then a part written.
TEST(ReplayerSharing, ACopyIsNoneAndTheUpdateIsInPlace) {
  Sample s;
  s.g.Launch("neg", {s.x}, {s.z});
  s.g.Add({Copy{s.x, s.out}, {}});
  s.g.Launch("add", {s.out, s.y}, {s.out});
  const auto got = Shared(std::move(s));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->first, Floats({11, 22, 33, 44}));
  EXPECT_EQ(got->second, Floats({-1, -2, -3, -4}));
}

TEST(ReplayerSharing, WhatALaunchSaysIsInPlace) {
  Sample s;
  s.g.Launch("neg", {s.y}, {s.z});
  s.g.Launch("add", {s.x, s.y}, {s.out});
  s.last_launch().in_place = {{0, 0}};
  const auto got = Shared(std::move(s));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->first, Floats({11, 22, 33, 44}));
}

TEST(ReplayerSharing, WhatIsReadLaterOrOtherwiseIsRefused) {
  {
    Sample s;
    s.g.Launch("neg", {s.y}, {s.z});
    s.g.Launch("add", {s.x, s.y}, {s.out});
    ExpectRefused(std::move(s));
  }
  {
    Sample s;
    s.g.Launch("add", {s.x, s.y}, {s.out});
    s.last_launch().in_place = {{0, 0}};
    s.g.Launch("neg", {s.x}, {s.z});
    ExpectRefused(std::move(s));
  }
  {
    Sample s;
    s.g.Launch("neg", {s.y}, {s.z});
    s.g.Launch("add", {s.x, s.x}, {s.out});
    s.last_launch().in_place = {{0, 0}};
    ExpectRefused(std::move(s));
  }
  {
    Sample s;
    s.g.Launch("neg", {s.y}, {s.z});
    s.g.Launch("add", {s.y, s.x}, {s.out});
    s.last_launch().in_place = {{0, 0}};
    ExpectRefused(std::move(s));
  }
}

}  // namespace
}  // namespace encore::runtime
