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
#include "encore/runtime/plan/step_order.h"
#include "encore/runtime/plan/views.h"

namespace encore::runtime {
namespace {

// Larger temporaries get memory of their own instead of a place in an arena:
// one of run-time size what it takes, in place of what it may at most.
constexpr int64_t kMostPlannedBytes = int64_t{1} << 40;
constexpr int64_t kMostPlannedAtRunTime = int64_t{1} << 24;
// More temporaries in a pool get no place for longer than they are used.
constexpr size_t kMostBuffersInFlight = 1500;

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
  Assigner(CompiledGraph* graph, const MemoryOptions& options)
      : graph_(*graph), options_(options), symbols_(DimSymbols(*graph)) {}

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
    flows_.clear();
    Walk(plan);
    if (InFlight()) FindFlows();
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
      flows_[plan].ends.push_back(last);
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
    Use& use = uses_[TensorOf(graph_, slot).value()];
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

  bool InFlight() const {
    return std::ranges::count(options_.queued, true) > 0;
  }

  // What runs beside what, plan by plan.
  void FindFlows() {
    for (auto& [plan, flow] : flows_) {
      const std::vector<Step>& steps = graph_.plan(plan).steps;
      if (steps.size() > StepOrder::kMostSteps) continue;
      flow.order.emplace(graph_, plan, options_.queued);
      for (uint32_t i = 0; i < steps.size(); ++i) {
        ForEachAccess(graph_, steps[i], [&](SlotId slot, bool) {
          std::vector<uint32_t>& users =
              flow.users[TensorOf(graph_, slot).value()];
          if (users.empty() || users.back() != i) users.push_back(i);
        });
      }
    }
  }

  // Later steps, of the plan that all of the slot's uses are in, that may run
  // beside one of them.
  std::vector<uint32_t> StepsBeside(SlotId slot) const {
    const Use& use = uses_[slot.value()];
    const Flow& flow = flows_.at(use.path.back().first);
    std::vector<uint32_t> beside;
    if (!flow.order) return beside;
    const auto users = flow.users.find(slot.value());
    for (uint32_t i = use.last_step + 1; i < flow.ends.size(); ++i) {
      const auto after = [&](uint32_t user) {
        return flow.order->Before(user, i);
      };
      if (!after(use.last_step) ||
          (users != flow.users.end() &&
           !std::ranges::all_of(users->second, after))) {
        beside.push_back(i);
      }
    }
    return beside;
  }

  // By buffer: the buffers that begin at steps beside its users, each with how
  // many steps after the last of these.
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> BuffersBeside(
      std::span<const SlotId> slots,
      const std::vector<LiveBuffer>& buffers) const {
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> beside(
        slots.size());
    for (size_t i = 0; i < slots.size(); ++i) {
      const Use& use = uses_[slots[i].value()];
      const std::vector<uint32_t> steps = StepsBeside(slots[i]);
      if (steps.empty()) continue;
      const Flow& flow = flows_.at(use.path.back().first);
      for (uint32_t j = 0; j < slots.size(); ++j) {
        const uint32_t first = buffers[j].first;
        if (first <= buffers[i].last || first > flow.ends.back()) continue;
        const auto step = static_cast<uint32_t>(
            std::ranges::lower_bound(flow.ends, first) - flow.ends.begin());
        if (std::ranges::binary_search(steps, step)) {
          beside[i].emplace_back(j, step - use.last_step);
        }
      }
    }
    return beside;
  }

  // Where devices have queues, with the longest window for which the arena
  // stays within its growth.
  OffsetPlan PlanInFlight(std::span<const SlotId> slots,
                          const std::vector<LiveBuffer>& buffers) const {
    OffsetPlan best = PlanOffsets(buffers);
    if (!InFlight() || buffers.size() > kMostBuffersInFlight) return best;
    const auto beside = BuffersBeside(slots, buffers);
    const auto most =
        static_cast<int64_t>(static_cast<double>(best.bytes) *
                             (1 + std::clamp(options_.growth, 0.0, 1e3)));
    uint32_t fits = 0, limit = 0;
    for (const auto& [plan, flow] : flows_) {
      limit = std::max(limit, static_cast<uint32_t>(flow.ends.size()));
    }
    for (uint32_t window = limit; fits < limit;
         window = fits + (limit - fits + 1) / 2) {
      std::vector<LiveBuffer> apart = buffers;
      for (size_t i = 0; i < apart.size(); ++i) {
        for (const auto& [other, distance] : beside[i]) {
          if (distance <= window) apart[i].beside.push_back(other);
        }
      }
      OffsetPlan plan = PlanOffsets(apart);
      if (plan.bytes <= most) {
        best = std::move(plan);
        fits = window;
      } else {
        limit = window - 1;
      }
    }
    return best;
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
    const OffsetPlan offsets = PlanInFlight(slots, buffers);
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

  // Of a plan: the last position of each step, and, where devices have queues,
  // the order of its steps and which use a slot.
  struct Flow {
    std::vector<uint32_t> ends;
    std::optional<StepOrder> order;
    std::map<uint32_t, std::vector<uint32_t>> users;
  };

  CompiledGraph& graph_;
  const MemoryOptions& options_;
  std::vector<Symbol> symbols_;
  std::map<PlanId, Flow> flows_;
  std::vector<Use> uses_;  // per slot, of alias sets
  std::vector<std::pair<SlotId, SlotId>> in_place_;
  std::vector<std::pair<PlanId, uint32_t>> path_;
  uint32_t position_ = 0;
  MemoryReport report_;
};

}  // namespace

StatusOr<MemoryReport> AssignMemory(CompiledGraph* graph,
                                    const MemoryOptions& options) {
  return Assigner(graph, options).Run();
}

}  // namespace encore::runtime
