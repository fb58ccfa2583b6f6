// Profiled replays with a library in CUPTI's place: whose times they have, and
// what becomes of them where it fails.
#include "encore/backends/cuda/profiling/cupti.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cuda/fake/fake_driver.h"
#include "encore/backends/cuda/profiling/testing/emulated_cupti_abi.h"
#include "encore/backends/cuda/testing/plan_device.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/profiler.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/testing/plan_runs.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

using fake::FakeDriver;
using runtime::PoolId;
using runtime::Replayer;
using runtime::SlotId;
using runtime::SlotRole;

constexpr char kLibrary[] = "backends/cuda/profiling/emulated_cupti.so";
constexpr int kKernels = 3;

FakeDriver* present = nullptr;

size_t Take(EmulatedActivity* activities, size_t most) {
  static auto* const left = new std::vector<EmulatedActivity>;
  for (const fake::Activity& one : present->TakeActivities()) {
    left->push_back({one.stream, one.is_copy, one.begin_ns, one.end_ns});
  }
  const size_t count = std::min(most, left->size());
  std::copy_n(left->begin(), count, activities);
  left->erase(left->begin(), left->begin() + static_cast<int64_t>(count));
  return count;
}

const EmulatedCuptiControl& Library() {
  static const EmulatedCuptiControl& control = []() -> const auto& {
    void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    ENCORE_CHECK(library != nullptr) << dlerror();
    return *reinterpret_cast<const EmulatedCuptiControl* (*)()>(
        dlsym(library, "EmulatedCupti"))();
  }();
  control.use(&Take);
  return control;
}

class CuptiTimes : public testing::Test {
 protected:
  CuptiTimes() : fake_(FakeDriver::New({.seed = 1})), threads_(1) {
    present = fake_.get();
    runtime::TestGraph g{PoolId(1)};
    SlotId last = g.Tensor(SlotRole::kInput, {16});
    for (int i = 0; i < kKernels; ++i) {
      const SlotId next =
          i + 1 == kKernels ? g.Tensor(SlotRole::kOutput, {16}) : g.Temp({16});
      g.Launch("neg", {last}, {next});
      last = next;
    }
    for (runtime::Slot& slot : g.graph.slots) slot.pool = PoolId(1);
    ENCORE_CHECK_OK(runtime::AssignMemory(&g.graph).status());
    graph_ = std::move(g.graph);
  }
  ~CuptiTimes() override { present = nullptr; }

  // What a profiled replay, behind others, says that each step took.
  StatusOr<std::vector<double>> Times(std::string cupti) {
    ENCORE_ASSIGN_OR_RETURN(
        auto device,
        NewPlanDevice(fake_->driver(), 0, "test", {.cupti = std::move(cupti)}));
    ENCORE_ASSIGN_OR_RETURN(
        auto replayer,
        runtime::NewReplayer(graph_, {std::move(device)}, &threads_));
    const std::vector<float> x(16, 1);
    ENCORE_RETURN_IF_ERROR(replayer->BindHostInput(0, x.data(), 64));
    runtime::Profiler profiler(1000);
    for (int call = 0; call < 3; ++call) {
      ENCORE_RETURN_IF_ERROR(replayer->Replay(call == 0 ? nullptr : &profiler));
    }
    std::vector<double> times;
    for (const auto& total : profiler.Totals()) {
      times.push_back(total.device_mean_ns().value_or(-1));
    }
    return times;
  }

  const std::shared_ptr<FakeDriver> fake_;
  runtime::ThreadPool threads_;
  runtime::CompiledGraph graph_;
};

const std::vector<double> kByEvents(kKernels, 1000);
const std::vector<double> kByRecords(kKernels, 700);

TEST_F(CuptiTimes, AreOfTheRecordsWhereTheLibraryIsThere) {
  const EmulatedCuptiControl& library = Library();
  EXPECT_EQ(*Times(""), kByEvents);
  EXPECT_EQ(*Times("/nowhere/libcupti.so.13"), kByEvents);
  EXPECT_EQ(*Times(kLibrary), kByRecords);
  EXPECT_EQ(library.enabled(), 0);
  EXPECT_EQ(fake_->leaks(), std::vector<std::string>());
}

// Its activities are the process's: nothing is opened unasked.
TEST(CuptiLibraryTest, IsWhatTheEnvironmentNames) {
  ASSERT_EQ(unsetenv("ENCORE_CUPTI"), 0);
  EXPECT_EQ(CuptiLibrary(), "");
  ASSERT_EQ(setenv("ENCORE_CUPTI", "", 1), 0);
  EXPECT_EQ(CuptiLibrary(), "");
  ASSERT_EQ(setenv("ENCORE_CUPTI", kLibrary, 1), 0);
  EXPECT_EQ(CuptiLibrary(), kLibrary);
  ASSERT_EQ(unsetenv("ENCORE_CUPTI"), 0);
}

// Replays without a profiler call none of it.
TEST_F(CuptiTimes, NothingIsRecordedWithoutAProfiler) {
  const EmulatedCuptiControl& library = Library();
  ASSERT_EQ(*Times(kLibrary), kByRecords);
  library.fail("cuptiActivityEnable", -1, CuptiResult::kSuccess);
  auto device = NewPlanDevice(fake_->driver(), 0, "test", {.cupti = kLibrary});
  ASSERT_TRUE(device.ok());
  auto replayer = runtime::NewReplayer(graph_, {*std::move(device)}, &threads_);
  ASSERT_TRUE(replayer.ok());
  const std::vector<float> x(16, 1);
  ASSERT_TRUE((*replayer)->BindHostInput(0, x.data(), 64).ok());
  for (int call = 0; call < 3; ++call) {
    ASSERT_TRUE((*replayer)->Replay().ok());
  }
  EXPECT_EQ(library.calls("cuptiActivityEnable"), 0);
}

// Each call may fail: times are then the events', and nothing stays enabled.
TEST_F(CuptiTimes, FailuresLeaveTheEvents) {
  const EmulatedCuptiControl& library = Library();
  int64_t made = 0;
  for (const char* function :
       {"cuptiGetStreamIdEx", "cuptiActivityEnable", "cuptiActivityDisable",
        "cuptiActivityFlushAll", "cuptiActivityGetNextRecord"}) {
    for (int64_t k = 0;; ++k) {
      library.fail(function, k, CuptiResult(999));
      const auto times = Times(kLibrary);
      const bool called = library.calls(function) > k;
      library.fail(function, -1, CuptiResult::kSuccess);
      ASSERT_TRUE(times.ok()) << times.status();
      for (const double time : *times) {
        EXPECT_TRUE(time >= 700 && time <= 1000)
            << function << " " << k << ": " << time;
      }
      EXPECT_EQ(library.enabled(), 0) << function << " " << k;
      EXPECT_EQ(fake_->leaks(), std::vector<std::string>());
      if (!called) break;
      ++made;
    }
    EXPECT_EQ(*Times(kLibrary), kByRecords) << function;
  }
  EXPECT_GT(made, 30);
}

}  // namespace
}  // namespace encore::backends::cuda
