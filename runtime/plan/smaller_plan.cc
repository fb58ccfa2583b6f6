#include "encore/runtime/plan/smaller_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "encore/ir/support/integers.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/shape.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/plan/hazards.h"
#include "encore/runtime/plan/recompute.h"
#include "encore/runtime/plan/sizes.h"
#include "encore/runtime/plan/step_order.h"
#include "encore/runtime/plan/views.h"

namespace encore::runtime {
namespace {

constexpr size_t kMostSteps = 4096;
constexpr int64_t kMostTemporaries = 8192;

bool IsOfMemory(const Step& step) {
  return std::holds_alternative<Allocate>(step.op) ||
         std::holds_alternative<Deallocate>(step.op);
}

// As lowering makes it, before memory is assigned.
CompiledGraph WithoutMemory(const CompiledGraph& graph) {
  CompiledGraph result = graph;
  for (Plan& plan : result.plans) std::erase_if(plan.steps, IsOfMemory);
  for (Slot& slot : result.slots) {
    if (!slot.base.valid() || !graph.slot(slot.base).is_arena) continue;
    slot.base = {};
    slot.offset = {};
  }
  while (!result.slots.empty() && result.slots.back().is_arena) {
    result.slots.pop_back();
  }
  return result;
}

bool HasRunTimeSymbols(const CompiledGraph& graph) {
  return std::ranges::any_of(graph.symbols, [](const SymbolInfo& info) {
    return info.source == SymbolInfo::Source::kSlot;
  });
}

// Bytes of the run plan's arenas, by pool.
std::map<PoolId, int64_t> ArenaBytes(const CompiledGraph& graph) {
  const std::vector<Symbol> symbols = DimSymbols(graph);
  std::map<PoolId, int64_t> bytes;
  for (const Step& step : graph.plan(graph.run).steps) {
    const auto* const op = std::get_if<Allocate>(&step.op);
    if (op == nullptr || !graph.slot(op->slot).is_arena) continue;
    int64_t& sum = bytes[op->pool];
    sum = SaturatingAdd(sum, op->bytes.UpperBound(symbols));
  }
  return bytes;
}

// The pool whose peak is to be lowered: a device's with the most bytes, the
// host's where no device has any.
PoolId LargestPool(const CompiledGraph& graph) {
  PoolId largest = kHostPool;
  int64_t most = -1;
  for (const auto& [pool, bytes] : ArenaBytes(graph)) {
    if (pool == kHostPool || bytes <= most) continue;
    largest = pool;
    most = bytes;
  }
  return largest;
}

// The steps of the run plan, of those that could be next always one that leaves
// least live, the first of equals.
class Scheduler {
 public:
  Scheduler(CompiledGraph* graph, PoolId pool, const std::vector<bool>& queued)
      : graph_(*graph),
        steps_(graph->plans[graph->run.value()].steps),
        order_(*graph, graph->run, queued),
        symbols_(DimSymbols(*graph)),
        tensors_(steps_.size()),
        users_(graph->slots.size()),
        waits_for_(steps_.size()) {
    for (uint32_t i = 0; i < steps_.size(); ++i) {
      ForEachAccess(graph_, steps_[i], [&](SlotId slot, bool) {
        const SlotId tensor = TensorOf(graph_, slot);
        const Slot& of = graph_.slot(tensor);
        if (of.role != SlotRole::kTemporary || of.pool != pool) return;
        auto& tensors = tensors_[i];
        if (std::ranges::find(tensors, tensor) != tensors.end()) return;
        tensors.push_back(tensor);
        ++users_[tensor.value()].left;
      });
      for (uint32_t j = 0; j < i; ++j) waits_for_[i] += order_.Before(j, i);
    }
  }

  void Run() {
    std::vector<uint32_t> ready;
    for (uint32_t i = 0; i < steps_.size(); ++i) {
      if (waits_for_[i] == 0) ready.push_back(i);
    }
    std::vector<Step> scheduled;
    while (!ready.empty()) {
      const auto next = std::ranges::min_element(
          ready, {}, [&](uint32_t i) { return std::pair(Change(i), i); });
      const uint32_t step = *next;
      ready.erase(next);
      for (const SlotId tensor : tensors_[step]) {
        users_[tensor.value()].is_live = true;
        --users_[tensor.value()].left;
      }
      for (uint32_t i = step + 1; i < steps_.size(); ++i) {
        if (order_.Before(step, i) && --waits_for_[i] == 0) ready.push_back(i);
      }
      scheduled.push_back(std::move(steps_[step]));
    }
    steps_ = std::move(scheduled);
  }

 private:
  struct Users {
    uint32_t left = 0;  // steps that are still to come
    bool is_live = false;
  };

  // Bytes that are live behind the step and were not before it.
  int64_t Change(uint32_t step) const {
    int64_t change = 0;
    for (const SlotId tensor : tensors_[step]) {
      const Users& users = users_[tensor.value()];
      const int64_t bytes = MostBytes(graph_, tensor, symbols_);
      if (!users.is_live) change += bytes;
      if (users.left == 1) change -= bytes;
    }
    return change;
  }

  const CompiledGraph& graph_;
  std::vector<Step>& steps_;
  const StepOrder order_;
  const std::vector<Symbol> symbols_;
  std::vector<std::vector<SlotId>> tensors_;  // by step
  std::vector<Users> users_;                  // by slot
  std::vector<uint32_t> waits_for_;           // by step: how many
};

}  // namespace

int64_t RunArenaBytes(const CompiledGraph& graph) {
  int64_t bytes = 0;
  const std::map<PoolId, int64_t> all = ArenaBytes(graph);
  for (const auto& [pool, of_pool] : all) {
    if (pool != kHostPool || all.size() == 1) {
      bytes = SaturatingAdd(bytes, of_pool);
    }
  }
  return bytes;
}

StatusOr<CompiledGraph> SmallerPlan(const CompiledGraph& graph,
                                    const std::vector<bool>& queued) {
  const auto temporaries =
      std::ranges::count(graph.slots, SlotRole::kTemporary, &Slot::role);
  if (temporaries > kMostTemporaries) {
    return UnimplementedError(
        StrCat("a smaller plan of ", temporaries, " temporaries"));
  }
  const CompiledGraph bare = WithoutMemory(graph);
  const PoolId pool = LargestPool(graph);
  const bool changes = !HasRunTimeSymbols(graph) &&
                       bare.plan(bare.run).steps.size() <= kMostSteps;
  std::optional<CompiledGraph> best;
  // Of equals one without steps that are done again.
  for (const bool repeated : {false, true}) {
    for (const bool ordered : {false, true}) {
      if ((ordered || repeated) && !changes) continue;
      CompiledGraph form = bare;
      if (ordered) Scheduler(&form, pool, queued).Run();
      if (repeated) Recompute(&form, pool);
      ENCORE_RETURN_IF_ERROR(AssignMemory(&form).status());
      if (!best || RunArenaBytes(form) < RunArenaBytes(*best)) {
        best = std::move(form);
      }
    }
  }
  return *std::move(best);
}

}  // namespace encore::runtime
