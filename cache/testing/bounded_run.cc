#include "encore/cache/testing/bounded_run.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/replay/host_object.h"
#include "encore/runtime/replay/replayer.h"

namespace encore::cache {
namespace {

using runtime::CompiledGraph;
using runtime::Invoke;
using runtime::InvokeKind;
using runtime::PlanId;
using runtime::Replayer;
using runtime::Slot;
using runtime::SlotId;

constexpr std::chrono::milliseconds kMostTime(300);
constexpr int64_t kMostTrips = 1000;
constexpr int64_t kMostElements = int64_t{1} << 16;

// Cancels a replay that takes too long.
class Watch {
 public:
  explicit Watch(Replayer* replayer) {
    thread_ = std::thread([this, replayer] {
      std::unique_lock lock(mutex_);
      while (!done_.wait_for(lock, kMostTime, [this] { return is_done_; })) {
        replayer->Cancel();
      }
    });
  }
  ~Watch() {
    {
      const std::lock_guard lock(mutex_);
      is_done_ = true;
    }
    done_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
  std::thread thread_;
};

std::optional<Literal> SmallValue(const TensorType& type,
                                  std::span<const int64_t> symbols) {
  switch (type.kind) {
    case ValueKind::kTensor:
      break;
    case ValueKind::kSequence:
      return Literal::Sequence(type.dtype, {});
    default:
      return Literal::Absent(type.dtype, type.kind);
  }
  std::vector<int64_t> dims;
  int64_t count = 1;
  for (const Dim& dim : type.shape.dims()) {
    const auto extent = dim.Evaluate(symbols);
    if (!extent || *extent < 0 || *extent > kMostElements) return std::nullopt;
    count *= std::max<int64_t>(*extent, 1);
    if (count > kMostElements) return std::nullopt;
    dims.push_back(*extent);
  }
  return Literal(type.dtype, std::move(dims));
}

Status Bind(const CompiledGraph& graph, std::span<const Literal> inputs,
            std::vector<Literal>* kept,
            std::deque<runtime::HostObject>* objects, Replayer* replayer) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Slot& slot = graph.slot(graph.inputs[i]);
    if (inputs[i].dtype() != slot.type.dtype ||
        inputs[i].kind() != slot.type.kind) {
      return InvalidArgumentError("an input of another type");
    }
    if (slot.is_host_object()) {
      objects->push_back({inputs[i]});
      ENCORE_RETURN_IF_ERROR(replayer->BindInput(i, &objects->back()));
      continue;
    }
    kept->push_back(inputs[i].Aligned());
    const Literal& value = kept->back();
    ENCORE_RETURN_IF_ERROR(replayer->BindHostInput(
        i, value.bytes().data(), static_cast<int64_t>(value.bytes().size()),
        value.dims()));
  }
  return OkStatus();
}

}  // namespace

std::optional<std::vector<Literal>> SmallValues(const CompiledGraph& graph,
                                                std::span<const SlotId> slots) {
  std::vector<int64_t> symbols;
  for (const runtime::SymbolInfo& symbol : graph.symbols) {
    symbols.push_back(std::clamp<int64_t>(2, symbol.lower, symbol.upper));
  }
  std::vector<Literal> values;
  for (const SlotId slot : slots) {
    auto value = SmallValue(graph.slot(slot).type, symbols);
    if (!value) return std::nullopt;
    values.push_back(*std::move(value));
  }
  return values;
}

bool PrepareEndsSoon(const CompiledGraph& graph) {
  if (!graph.prepare.valid()) return true;
  // With how often each is run.
  std::vector<std::pair<PlanId, int64_t>> plans = {{graph.prepare, 1}};
  while (!plans.empty()) {
    const auto [plan, times] = plans.back();
    plans.pop_back();
    for (const runtime::Step& step : graph.plan(plan).steps) {
      const auto* invoke = std::get_if<Invoke>(&step.op);
      if (invoke == nullptr) continue;
      int64_t trips = 1;
      if (invoke->kind == InvokeKind::kWhile) return false;
      if (invoke->kind == InvokeKind::kScan) {
        if (!invoke->trips.is_constant()) return false;
        trips = invoke->trips.constant();
      }
      if (trips > kMostTrips / times) return false;
      for (const PlanId part : invoke->plans) {
        plans.emplace_back(part, times * std::max<int64_t>(trips, 1));
      }
    }
  }
  return true;
}

Status RunBriefly(std::shared_ptr<const runtime::Executable> executable,
                  std::shared_ptr<const runtime::Weights> weights,
                  std::span<const Literal> inputs,
                  runtime::ThreadPool* threads) {
  const CompiledGraph& graph = executable->graph();
  if (inputs.size() != graph.inputs.size()) {
    return InvalidArgumentError("another number of inputs");
  }
  ENCORE_ASSIGN_OR_RETURN(
      const std::unique_ptr<Replayer> replayer,
      Replayer::Create(executable, std::move(weights), threads));
  std::vector<Literal> kept;
  std::deque<runtime::HostObject> objects;
  ENCORE_RETURN_IF_ERROR(Bind(graph, inputs, &kept, &objects, replayer.get()));
  const Watch watch(replayer.get());
  for (int replay = 0; replay < 2; ++replay) {
    ENCORE_RETURN_IF_ERROR(replayer->Replay());
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      ENCORE_RETURN_IF_ERROR(replayer->CopyOutput(i).status());
    }
  }
  return OkStatus();
}

}  // namespace encore::cache
