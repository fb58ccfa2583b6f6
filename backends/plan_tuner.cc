#include "encore/backends/plan_tuner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "encore/backends/lowering/made_up_data.h"
#include "encore/backends/lowering/paired_times.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/replay/weights.h"

namespace encore::backends {
namespace {

using Clock = PlanTuner::Clock;

constexpr double kMostBytes = 2.0 * (1 << 30);
// A plan takes longer than a kernel, and what it gains is less of it.
constexpr PairedTurns kTurns = {
    .least = 6, .most = 200, .half = std::chrono::milliseconds(250)};

// Whether data may say how long a loop of the graph, or of its bodies, goes on.
bool HasOpenLoops(const Graph& graph) {
  for (int i = 0; i < graph.node_count(); ++i) {
    const NodeId node(i);
    if (graph.op(node) == Op::kWhile || graph.op(node) == Op::kLoop ||
        std::ranges::any_of(graph.bodies(node), HasOpenLoops)) {
      return true;
    }
  }
  return false;
}

// A device of `backends` for each of the plan's.
StatusOr<std::vector<std::shared_ptr<runtime::Device>>> DevicesOf(
    const runtime::CompiledGraph& plan,
    std::span<const Backend* const> backends) {
  std::vector<std::shared_ptr<runtime::Device>> devices;
  for (const runtime::DeviceInfo& info : plan.devices) {
    const auto backend = std::ranges::find_if(
        backends, [&](const auto* one) { return one->name() == info.backend; });
    if (backend == backends.end()) {
      return NotFoundError(StrCat("no backend ", Quote(info.backend)));
    }
    ENCORE_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Device> device,
                            (*backend)->NewDevice(info.ordinal));
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace

// A plan that is loaded and has run.
class PlanTuner::Trial {
 public:
  static StatusOr<std::unique_ptr<Trial>> Make(
      std::shared_ptr<const runtime::CompiledGraph> plan, PlanTuner* tuner) {
    auto trial = std::make_unique<Trial>();
    ENCORE_ASSIGN_OR_RETURN(auto devices, DevicesOf(*plan, tuner->backends_));
    ENCORE_ASSIGN_OR_RETURN(
        auto executable,
        runtime::Executable::Load(std::move(plan), std::move(devices),
                                  &tuner->threads_));
    ENCORE_ASSIGN_OR_RETURN(
        auto weights, runtime::Weights::Prepare(executable, tuner->parameters_,
                                                &tuner->threads_));
    ENCORE_ASSIGN_OR_RETURN(
        trial->replayer_,
        runtime::Replayer::Create(std::move(executable), std::move(weights),
                                  &tuner->threads_));
    for (size_t i = 0; i < tuner->inputs_.size(); ++i) {
      const std::span<const std::byte> bytes = tuner->inputs_[i].bytes();
      ENCORE_RETURN_IF_ERROR(trial->replayer_->BindHostInput(
          i, bytes.data(), static_cast<int64_t>(bytes.size()),
          tuner->inputs_[i].dims()));
    }
    ENCORE_RETURN_IF_ERROR(trial->replayer_->Replay());
    return trial;
  }

  StatusOr<double> Time() {
    const Clock::time_point begin = Clock::now();
    ENCORE_RETURN_IF_ERROR(replayer_->Replay());
    return SecondsSince(begin);
  }

 private:
  std::unique_ptr<runtime::Replayer> replayer_;
};

bool PlanTuner::CanTime(const Graph& graph) {
  if (std::ranges::any_of(graph.symbols(), &Symbol::at_run_time) ||
      HasOpenLoops(graph)) {
    return false;
  }
  double bytes = 0;
  for (const Graph::Argument& argument : graph.arguments()) {
    const TensorType& type = graph.type(argument.value);
    if (type.kind != ValueKind::kTensor || IsString(type.dtype) ||
        !type.shape.is_constant()) {
      return false;
    }
    const auto elements = ElementCount(type.shape.ConstantDims());
    if (!elements) return false;
    bytes += static_cast<double>(*elements) * BitWidth(type.dtype) / 8;
  }
  return bytes <= kMostBytes;
}

PlanTuner::PlanTuner(const Graph& graph,
                     std::span<const Backend* const> backends,
                     const CompileOptions& options)
    : backends_(backends),
      threads_(PlannedThreads(options)),
      incumbent_seconds_(std::numeric_limits<double>::infinity()) {
  for (const Graph::Argument& argument : graph.arguments()) {
    const TensorType& type = graph.type(argument.value);
    Literal data = MadeUpData(type.dtype, type.shape.ConstantDims(),
                              parameters_.size() + inputs_.size() + 1);
    if (argument.is_parameter) {
      parameters_.push_back(runtime::Blob::Copy(data.bytes()));
    } else {
      inputs_.push_back(data.Aligned());
    }
  }
}

PlanTuner::~PlanTuner() = default;

Status PlanTuner::SetIncumbent(
    std::shared_ptr<const runtime::CompiledGraph> plan) {
  ENCORE_ASSIGN_OR_RETURN(incumbent_, Trial::Make(std::move(plan), this));
  return OkStatus();
}

StatusOr<std::optional<double>> PlanTuner::Time(
    std::shared_ptr<const runtime::CompiledGraph> plan,
    Clock::time_point deadline) {
  if (Clock::now() >= deadline) return std::optional<double>();
  ENCORE_ASSIGN_OR_RETURN(const auto trial, Trial::Make(std::move(plan), this));
  const runtime::ThreadPool::Caller caller(threads_);
  return TimeInPairs([&] { return incumbent_->Time(); },
                     [&] { return trial->Time(); }, kTurns, deadline,
                     &incumbent_seconds_);
}

}  // namespace encore::backends
