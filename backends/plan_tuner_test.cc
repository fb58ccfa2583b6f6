// Plans timed against each other on a device that looks at how it is used.
#include "encore/backends/plan_tuner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/conformance/wrapped_backend.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/host_device.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

using std::chrono::milliseconds;
using Clock = PlanTuner::Clock;

// What the kernels of a Watched backend saw.
struct Seen {
  std::atomic<int> launches = 0;
  std::atomic<int> loaded = 0;        // kernels that are there now
  std::atomic<int> fewest = 1 << 20;  // threads that worked at once
};

// Computes nothing: finds out how many threads work for a launch.
class WatchedKernel : public runtime::Kernel {
 public:
  explicit WatchedKernel(Seen* seen) : seen_(*seen) { ++seen_.loaded; }
  ~WatchedKernel() override { --seen_.loaded; }
  Status Launch(const runtime::LaunchContext& context) const override {
    ++seen_.launches;
    std::atomic<int> present = 0;
    const int all = context.threads->size();
    context.threads->ParallelFor(all, [&](int64_t) {
      ++present;
      const Clock::time_point begin = Clock::now();
      while (present < all && Clock::now() - begin < milliseconds(200)) {
        std::this_thread::yield();
      }
      // Who waited in vain leaves one partition after the other to one thread.
      if (present < all) seen_.fewest = std::min<int>(seen_.fewest, present);
    });
    seen_.fewest = std::min<int>(seen_.fewest, present);
    return OkStatus();
  }

 private:
  Seen& seen_;
};

class WatchedDevice : public runtime::HostDevice {
 public:
  explicit WatchedDevice(Seen* seen) : HostDevice("cpu"), seen_(seen) {}
  bool runs_on_host() const override { return true; }
  StatusOr<std::vector<std::unique_ptr<runtime::Kernel>>> Load(
      std::span<const runtime::LoadRequest> requests,
      runtime::ThreadPool* threads) override {
    std::vector<std::unique_ptr<runtime::Kernel>> kernels;
    for (size_t i = 0; i < requests.size(); ++i) {
      kernels.push_back(std::make_unique<WatchedKernel>(seen_));
    }
    return kernels;
  }

 private:
  Seen* const seen_;
};

const Backend& Cpu() {
  return **std::ranges::find_if(AllBackends(), [](const Backend* backend) {
    return backend->name() == "cpu";
  });
}

// The cpu backend with such devices.
class Watched : public WrappedBackend {
 public:
  explicit Watched(Seen* seen) : WrappedBackend(Cpu()), seen_(seen) {}
  StatusOr<std::unique_ptr<runtime::Device>> NewDevice(
      uint32_t ordinal) const override {
    return std::make_unique<WatchedDevice>(seen_);
  }

 private:
  Seen* const seen_;
};

Graph Model() {
  return ParsedGraph(R"(
graph g(%x: f32[32,64], %w: param f32[64,16]) -> f32[32,16] {
  %0 = dot_general(%x, %w) {contract = [1]x[0]}
  %y = tanh(%0)
  return %y
})");
}

std::shared_ptr<const runtime::CompiledGraph> Plan(bool fuse) {
  CompileOptions options;
  options.fuse = fuse;
  auto compiled = Compile(Model(), options, AllBackends());
  ENCORE_CHECK_OK(compiled.status());
  return std::make_shared<const runtime::CompiledGraph>(*std::move(compiled));
}

class PlanTunerTest : public testing::Test {
 protected:
  static CompileOptions Options(int threads) {
    CompileOptions options;
    options.threads = threads;
    return options;
  }

  Seen seen_;
  const Watched backend_{&seen_};
  const Backend* const backends_[1] = {&backend_};
};

// With as many as the compiled graph runs with, and so as kernels are cut for.
TEST_F(PlanTunerTest, PlansAreTimedWithAllThreads) {
  for (const int threads : {1, 2, 3}) {
    seen_.fewest = 1 << 20;
    PlanTuner tuner(Model(), backends_, Options(threads));
    ASSERT_TRUE(tuner.SetIncumbent(Plan(true)).ok());
    const auto seconds = tuner.Time(Plan(false), Clock::time_point::max());
    ASSERT_TRUE(seconds.ok() && seconds->has_value()) << seconds.status();
    EXPECT_EQ(seen_.fewest, threads);
  }
}

TEST_F(PlanTunerTest, OtherPlansAreGivenBack) {
  PlanTuner tuner(Model(), backends_, Options(1));
  EXPECT_EQ(tuner.incumbent_seconds(), std::numeric_limits<double>::infinity());
  ASSERT_TRUE(tuner.SetIncumbent(Plan(true)).ok());
  const int loaded = seen_.loaded;
  EXPECT_GT(loaded, 0);
  const auto other = Plan(false);
  for (int round = 0; round < 2; ++round) {
    const auto seconds = tuner.Time(other, Clock::time_point::max());
    ASSERT_TRUE(seconds.ok() && seconds->has_value()) << seconds.status();
    EXPECT_GT(**seconds, 0);
    EXPECT_LT(tuner.incumbent_seconds(), 1);
    EXPECT_EQ(seen_.loaded, loaded);
    EXPECT_EQ(other.use_count(), 1);
  }
}

// What is past its time is not loaded, let alone run.
TEST_F(PlanTunerTest, NothingRunsAfterTheDeadline) {
  PlanTuner tuner(Model(), backends_, Options(1));
  ASSERT_TRUE(tuner.SetIncumbent(Plan(true)).ok());
  const int launches = seen_.launches;
  const auto seconds = tuner.Time(Plan(false), Clock::now());
  ASSERT_TRUE(seconds.ok()) << seconds.status();
  EXPECT_EQ(*seconds, std::nullopt);
  EXPECT_EQ(seen_.launches, launches);
}

TEST(CanTime, NoDataSayHowMuchThereIsToDo) {
  EXPECT_TRUE(PlanTuner::CanTime(Model()));
  // A loop whose data end it.
  const std::string_view loop = R"(
  %y = while(%x)
    graph more(%a: f32[]) -> bool[] {
      %z = constant() {value = f32[] 100}
      %c = compare(%a, %z) {direction = ne}
      return %c
    }
    graph next(%a: f32[]) -> f32[] {
      %b = add(%a, %a)
      return %b
    }
  return %y
})";
  EXPECT_FALSE(PlanTuner::CanTime(
      ParsedGraph(StrCat("graph g(%x: f32[]) -> f32[] {", loop))));
  // Within a branch.
  EXPECT_FALSE(PlanTuner::CanTime(ParsedGraph(StrCat(R"(
graph g(%c: bool[], %x: f32[]) -> f32[] {
  %y = if(%c, %x)
    graph then(%x: f32[]) -> f32[] {)",
                                                     loop, R"(
    graph else(%x: f32[]) -> f32[] {
      return %x
    }
  return %y
})"))));
  // A counted one.
  EXPECT_FALSE(PlanTuner::CanTime(ParsedGraph(R"(
symbols T at_run_time
graph g(%n: i64[], %x: i64[2]) -> (i64[2], i64[T,2]) {
  %c = constant() {value = bool[] true}
  %y, %s = loop(%n, %c, %x) {carried = 1, trips = [T], max_trips = -1}
    graph body(%i: i64[], %go: bool[], %a: i64[2]) -> (bool[], i64[2], i64[2]) {
      %b = add(%a, %a)
      return %go, %b, %b as slice
    }
  return %y, %s
})")));
  // As many elements as the data say.
  EXPECT_FALSE(PlanTuner::CanTime(ParsedGraph(R"(
symbols T at_run_time
graph g(%n: i64[]) -> i64[T] {
  %0 = define_symbols(%n) {dims = [T]}
  %y = iota() {shape = [T]}
  return %y
})")));
  // As often as an input is long.
  EXPECT_TRUE(PlanTuner::CanTime(ParsedGraph(R"(
graph g(%x: i64[2], %s: i64[5]) -> i64[2] {
  %y = scan(%x, %s) {carried = 1, scan_axes = [0], directions = [0]}
    graph body(%a: i64[2], %b: i64[]) -> i64[2] {
      %c = add(%a, %a)
      return %c
    }
  return %y
})")));
}

}  // namespace
}  // namespace encore::backends
