// How well kernels and copies of devices with queues overlap, on a virtual
// clock, and what memory that is planned for queues adds to it.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replay_code.h"
#include "encore/runtime/testing/deferred_device.h"
#include "encore/runtime/testing/device_plans.h"
#include "encore/runtime/testing/test_device.h"
#include "encore/runtime/testing/virtual_clock.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

constexpr uint32_t kClockPlans = 200;

// Which devices of a plan have queues.
const std::vector<bool> kQueued = {false, true, true};

std::vector<std::shared_ptr<Device>> LateDevices(uint32_t seed, int queues) {
  std::vector<std::shared_ptr<Device>> devices;
  const auto work = NewDeferredWork(seed);
  for (const std::string& name : kPlanDevices) {
    std::shared_ptr<Device> device = std::make_shared<TestDevice>(name);
    if (kQueued[devices.size()]) {
      device = std::make_shared<DeferredDevice>(
          std::move(device), work, DeferredOptions{name, queues, true});
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

// A time for each operation: the same for a step, whatever it waits for.
std::vector<int64_t> RandomDurations(const ReplayCode& code, uint32_t seed) {
  std::vector<int64_t> durations;
  for (const ReplayOp& op : code.ops) {
    const bool works = op.code <= ReplayOp::Code::kMoveObject &&
                       op.code != ReplayOp::Code::kEnd;
    std::minstd_rand random(1 + seed * 1000 + op.step);
    random.discard(3);
    durations.push_back(works ? 50 + random() % 100 : 0);
  }
  return durations;
}

// Sums over plans.
struct Overlap {
  double ratio = 0;  // of makespan and bound
  double worst = 0;  // of these
  int64_t makespan = 0, waits = 0, needed = 0, arenas = 0;
};

Overlap MeasureOverlap(int queues, const MemoryOptions& memory) {
  ThreadPool threads(1);
  Overlap sum;
  for (uint32_t seed = 0; seed < kClockPlans; ++seed) {
    const CompiledGraph graph = RandomDevicePlan(
        seed, {.kernels = 60, .control_flow = false, .memory = memory});
    for (const Slot& slot : graph.slots) {
      if (slot.is_arena) sum.arenas += slot.bytes.constant();
    }
    const auto executable =
        Executable::Load(std::make_shared<CompiledGraph>(graph),
                         LateDevices(seed, queues), &threads);
    EXPECT_TRUE(executable.ok()) << executable.status();
    const ReplayCode& code = (*executable)->run();
    const VirtualTimes times =
        RunOnVirtualClock(graph, code, RandomDurations(code, seed));
    const double ratio =
        static_cast<double>(times.makespan) /
        static_cast<double>(std::max(times.critical_path, times.busiest));
    sum.ratio += ratio;
    sum.worst = std::max(sum.worst, ratio);
    sum.makespan += times.makespan;
    sum.waits += times.waits;
    sum.needed += times.needed_waits;
  }
  return sum;
}

// Transfers and kernels run side by side: how far from what no order can beat;
// and what it takes and saves to keep places for what may run beside who uses
// them.
TEST(WorkOverlaps, KernelsAndCopiesRunSideBySide) {
  const Overlap one = MeasureOverlap(1, {}), before = MeasureOverlap(6, {});
  const Overlap after = MeasureOverlap(6, {.queued = kQueued});
  const double makespan = static_cast<double>(after.makespan) /
                          static_cast<double>(before.makespan);
  const double arenas =
      static_cast<double>(after.arenas) / static_cast<double>(before.arenas);
  std::cout << "makespan / bound: " << before.ratio / kClockPlans
            << " (at most " << before.worst << "), one queue "
            << one.ratio / kClockPlans << "; waits " << before.waits << " of "
            << before.needed << " in the transitive reduction\n"
            << "memory planned for queues: makespan " << makespan << ", arenas "
            << arenas << " of those before; waits " << after.waits << " of "
            << after.needed << "; makespan / bound "
            << after.ratio / kClockPlans << " (at most " << after.worst
            << ")\n";
  EXPECT_EQ(before.waits, before.needed);
  EXPECT_LT(before.ratio, one.ratio);
  EXPECT_EQ(after.waits, after.needed);
  EXPECT_LT(after.waits, before.waits);
  EXPECT_LT(makespan, 0.9);
  EXPECT_LE(arenas, 1.1);
}

}  // namespace
}  // namespace encore::runtime
