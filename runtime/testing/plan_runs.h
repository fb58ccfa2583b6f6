// Runs of RandomDevicePlan's plans (device_plans.h), for tests.
#ifndef ENCORE_RUNTIME_TESTING_PLAN_RUNS_H_
#define ENCORE_RUNTIME_TESTING_PLAN_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replay_code.h"
#include "encore/runtime/replay/replayer.h"

namespace encore::runtime {

using Devices = std::vector<std::shared_ptr<Device>>;

// Devices that work before they return, each in host memory of its own.
Devices DirectDevices();

struct PlanInputs {
  std::vector<float> x, y;
  int64_t limit = 3;

  // Others for other seeds: other branches, trips and sizes.
  explicit PlanInputs(uint32_t seed);
};

// Binds host memory of `inputs`, which stays as it is.
Status Bind(const PlanInputs& inputs, Replayer* replayer);

StatusOr<std::unique_ptr<Replayer>> NewReplayer(const CompiledGraph& graph,
                                                const Devices& devices,
                                                ThreadPool* threads);

// Of a replayer's last replay, each as bytes.
std::vector<std::string> OutputsOf(Replayer& replayer, size_t count);

// What direct devices compute.
std::vector<std::string> Expected(const CompiledGraph& graph,
                                  const PlanInputs& inputs,
                                  ThreadPool* threads);

// Outputs of one run of `code`, a changed form of the executable's; the status
// where it fails.
StatusOr<std::vector<std::string>> RunCode(const Executable& executable,
                                           const ReplayCode& code,
                                           const PlanInputs& inputs,
                                           ThreadPool* threads);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_TESTING_PLAN_RUNS_H_
