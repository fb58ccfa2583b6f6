#include "encore/runtime/plan/assign_memory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/hazards.h"
#include "encore/runtime/plan/memory_plan.h"
#include "encore/runtime/plan/sizes.h"

namespace encore::runtime {
namespace {

// Larger temporaries get memory of their own instead of a place in an arena:
// one of run-time size what it takes, in place of what it may at most.
constexpr int64_t kMostPlannedBytes = int64_t{1} << 40;
constexpr int64_t kMostPlannedAtRunTime = int64_t{1} << 24;

// The tensor whose bytes a slot's are: a view's base.
SlotId AliasSetOf(const CompiledGraph& graph, SlotId slot) {
  const SlotId base = graph.slot(slot).base;
  return base.valid() && !graph.slot(base).is_arena ? base : slot;
}

// Positions count the steps of a plan tree in execution order; a step's range
// covers its sub-plans'.
struct Use {
  uint32_t first = UINT32_MAX, last = 0;
  // The innermost plan all uses are in, and the steps there.
  std::vector<std::pair<PlanId, uint32_t>> path;  // outermost first
  uint32_t last_step = 0;                         // in path.back().first
};

class Assigner {
 public:
  explicit Assigner(CompiledGraph* graph)
      : graph_(*graph), symbols_(DimSymbols(*graph)) {}

  StatusOr<MemoryReport> Run() {
    if (graph_.prepare.valid()) {
      ENCORE_RETURN_IF_ERROR(AssignPlan(graph_.prepare));
    }
    ENCORE_RETURN_IF_ERROR(AssignPlan(graph_.run));
    return std::move(report_);
  }

 private:
  Status AssignPlan(PlanId plan) {
    uses_.assign(graph_.slots.size(), {});
    position_ = 0;
    in_place_.clear();
    Walk(plan);
    std::map<PoolId, std::vector<SlotId>> planned;
    std::vector<SlotId> own;
    for (uint32_t s = 0; s < graph_.slots.size(); ++s) {
      const SlotId slot(s);
      if (uses_[s].path.empty() || !NeedsStorage(slot)) continue;
      if (IsPlannable(slot)) {
        planned[graph_.slot(slot).pool].push_back(slot);
      } else {
        own.push_back(slot);
      }
    }
    InsertOwn(own);
    for (const auto& [pool, slots] : planned) {
      ENCORE_RETURN_IF_ERROR(AssignArena(plan, pool, slots));
    }
    return OkStatus();
  }

  bool NeedsStorage(SlotId id) const {
    const Slot& slot = graph_.slot(id);
    if (slot.is_arena || slot.is_host_object() || slot.base.valid()) {
      return false;
    }
    return slot.role == SlotRole::kTemporary ||
           (slot.role == SlotRole::kOutput &&
            IsRunTimeSized(graph_, slot.bytes));
  }
  bool IsPlannable(SlotId id) const {
    const Slot& slot = graph_.slot(id);
    return slot.role == SlotRole::kTemporary &&
           slot.bytes.UpperBound(symbols_) <=
               (IsRunTimeSized(graph_, slot.bytes) ? kMostPlannedAtRunTime
                                                   : kMostPlannedBytes);
  }

  // Nesting is bounded by the plan verifier's limit.
  void Walk(PlanId plan) {
    for (uint32_t i = 0; i < graph_.plan(plan).steps.size(); ++i) {
      const Step& step = graph_.plan(plan).steps[i];
      const uint32_t first = position_++;
      path_.emplace_back(plan, i);
      std::visit([this](const auto& op) { Enter(op); }, step.op);
      const uint32_t last = position_ - 1;
      ForEachAccess(graph_, step,
                    [&](SlotId slot, bool) { TouchSlot(slot, first, last); });
      path_.pop_back();
    }
  }
  void Enter(const Invoke& op) {
    for (const PlanId sub : op.plans) Walk(sub);
    for (const Invoke::Carried& carried : op.carried) {
      TouchSlot(carried.next, position_, position_);
    }
    ++position_;
  }
  void Enter(const Launch& op) {
    for (const Launch::InPlace& pair : op.in_place) {
      in_place_.emplace_back(op.reads[pair.read], op.writes[pair.write]);
    }
  }
  void Enter(const Allocate&) {}
  void Enter(const Copy&) {}
  void Enter(const Deallocate&) {}

  void TouchSlot(SlotId slot, uint32_t first, uint32_t last) {
    Use& use = uses_[AliasSetOf(graph_, slot).value()];
    use.first = std::min(use.first, first);
    use.last = std::max(use.last, last);
    if (use.path.empty()) {
      use.path = path_;
      use.last_step = path_.back().second;
      return;
    }
    // Both in one plan as far as the paths agree on plans.
    size_t common = 0;
    while (common < use.path.size() && common < path_.size() &&
           use.path[common].first == path_[common].first) {
      ++common;
      if (use.path[common - 1].second != path_[common - 1].second) break;
    }
    use.path.resize(common);
    use.last_step = path_[common - 1].second;  // steps are met in order
  }

  // Allocate before the first and Deallocate after the last step that uses it.
  void InsertOwn(std::span<const SlotId> slots) {
    struct Insertion {
      uint32_t before;
      size_t number;
      Step step;
    };
    std::map<PlanId, std::vector<Insertion>> insertions;
    for (const SlotId slot : slots) {
      const auto& [plan, first] = uses_[slot.value()].path.back();
      const Slot& info = graph_.slot(slot);
      insertions[plan].push_back({first,
                                  insertions[plan].size(),
                                  {Allocate{info.pool, slot, info.bytes}, {}}});
      if (info.role == SlotRole::kOutput) continue;
      insertions[plan].push_back({uses_[slot.value()].last_step + 1,
                                  insertions[plan].size(),
                                  {Deallocate{info.pool, slot}, {}}});
    }
    for (auto& [plan, list] : insertions) {
      std::ranges::sort(list, {}, [](const Insertion& insertion) {
        return std::pair(insertion.before, insertion.number);
      });
      std::vector<Step>& steps = graph_.plans[plan.value()].steps;
      std::vector<Step> merged;
      auto next = list.begin();
      for (uint32_t i = 0; i <= steps.size(); ++i) {
        for (; next != list.end() && next->before == i; ++next) {
          merged.push_back(std::move(next->step));
        }
        if (i < steps.size()) merged.push_back(std::move(steps[i]));
      }
      steps = std::move(merged);
    }
  }

  Status AssignArena(PlanId plan, PoolId pool, std::span<const SlotId> slots) {
    std::vector<LiveBuffer> buffers;
    std::map<SlotId, int32_t> index;
    int64_t sum = 0;
    for (const SlotId slot : slots) {
      const Use& use = uses_[slot.value()];
      const int64_t bytes = graph_.slot(slot).bytes.UpperBound(symbols_);
      if (bytes < 0 || __builtin_add_overflow(sum, bytes + kAlignment, &sum)) {
        return InvalidArgumentError(
            StrCat("slot ", slot.value(), " has no size to plan with"));
      }
      index[slot] = static_cast<int32_t>(buffers.size());
      buffers.push_back({bytes, use.first, use.last, -1});
    }
    for (const auto& [read, write] : in_place_) {
      const auto from = index.find(read), to = index.find(write);
      if (from == index.end() || to == index.end()) continue;
      if (graph_.slot(read).bytes != graph_.slot(write).bytes) continue;
      buffers[to->second].in_place_of = from->second;
    }
    const OffsetPlan offsets = PlanOffsets(buffers);
    Slot arena;
    arena.is_arena = true;
    arena.pool = pool;
    arena.bytes = offsets.bytes;
    const SlotId id = AddSlot(&graph_, arena);
    for (size_t i = 0; i < slots.size(); ++i) {
      Slot& slot = graph_.slots[slots[i].value()];
      slot.base = id;
      slot.offset = offsets.offsets[i];
    }
    std::vector<Step>& steps = graph_.plans[plan.value()].steps;
    steps.insert(steps.begin(), {Allocate{pool, id, arena.bytes}, {}});
    steps.push_back({Deallocate{pool, id}, {}});
    report_.arenas.push_back(
        {plan, pool, id, offsets.bytes, offsets.lower_bound});
    return OkStatus();
  }

  CompiledGraph& graph_;
  std::vector<Symbol> symbols_;
  std::vector<Use> uses_;  // per slot, of alias sets
  std::vector<std::pair<SlotId, SlotId>> in_place_;
  std::vector<std::pair<PlanId, uint32_t>> path_;
  uint32_t position_ = 0;
  MemoryReport report_;
};

}  // namespace

StatusOr<MemoryReport> AssignMemory(CompiledGraph* graph) {
  return Assigner(graph).Run();
}

}  // namespace encore::runtime
