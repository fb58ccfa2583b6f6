#include "encore/runtime/plan/flow_checker.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dim_symbols.h"
#include "encore/runtime/plan/owner_map.h"
#include "encore/runtime/plan/slot_facts.h"

namespace encore::runtime {
namespace {

// A Scan whose body is being run.
struct ActiveScan {
  SlotId element, whole;
  bool written = false;    // the element, in this trip
  bool clobbered = false;  // something else was written over the whole
};

// The abstract memory.
struct State {
  std::vector<OwnerMap> owners;  // per storage
  std::vector<bool> allocated;   // per storage
  std::vector<bool> defined;     // per run-time symbol
  std::vector<ActiveScan> scans;

  void Join(const State& other) {
    for (size_t s = 0; s < owners.size(); ++s) {
      owners[s].Join(other.owners[s]);
      allocated[s] = allocated[s] && other.allocated[s];
    }
    for (size_t s = 0; s < defined.size(); ++s) {
      defined[s] = defined[s] && other.defined[s];
    }
    for (size_t s = 0; s < scans.size(); ++s) {
      scans[s].written &= other.scans[s].written;
      scans[s].clobbered |= other.scans[s].clobbered;
    }
  }
};

class FlowChecker {
 public:
  explicit FlowChecker(const CompiledGraph& graph)
      : graph_(graph),
        facts_(ComputeSlotFacts(graph)),
        scopes_(ComputePlanScopes(graph, facts_)) {}

  Status Check() {
    if (graph_.prepare.valid()) {
      ENCORE_RETURN_IF_ERROR(CheckRoot(graph_.prepare, SlotRole::kDerived));
    } else {
      for (const Slot& slot : graph_.slots) {
        if (slot.role != SlotRole::kDerived) continue;
        return InvalidArgumentError("P19: there is no plan to derive slots");
      }
    }
    return CheckRoot(graph_.run, SlotRole::kOutput);
  }

 private:
  const SlotFact& Fact(SlotId slot) const { return facts_[slot.value()]; }
  SlotRole RoleOf(SlotId slot) const {
    return graph_.slot(Fact(slot).alias_set).role;
  }
  bool in_prepare() const { return root_ == graph_.prepare; }

  template <typename... Pieces>
  Status Error(std::string_view invariant, const Pieces&... pieces) const {
    return InvalidArgumentError(StrCat(invariant, ": plan ", plan_.value(),
                                       " step ", step_, ": ", pieces...));
  }

  // At the end of `root`, after all steps.
  static Status NotMade(uint32_t slot, std::string_view what, PlanId root) {
    return InvalidArgumentError(
        StrCat("P19: plan ", root.value(), ": slot ", slot, " ", what));
  }

  Status CheckRoot(PlanId root, SlotRole result) {
    root_ = root;
    state_ = {};
    state_.owners.resize(graph_.slots.size());
    state_.allocated.resize(graph_.slots.size());
    state_.defined.resize(graph_.symbols.size());
    ENCORE_RETURN_IF_ERROR(RunPlan(root));
    for (uint32_t s = 0; s < graph_.slots.size(); ++s) {
      if (graph_.slots[s].role != result) continue;
      const SlotFact& fact = facts_[s];
      if (fact.needs_allocate && !state_.allocated[s]) {
        return NotMade(s, "is never allocated", root);
      }
      if (state_.owners[s].FindGap(fact.begin, fact.end, s)) {
        return NotMade(s, "is not written in whole", root);
      }
    }
    return OkStatus();
  }

  // Nesting is bounded by P7.
  Status RunPlan(PlanId plan) {
    const PlanId outer_plan = std::exchange(plan_, plan);
    const uint32_t outer_step = step_;
    std::vector<SlotId> outer_own = std::exchange(own_, {});
    const std::vector<Step>& steps = graph_.plan(plan).steps;
    for (step_ = 0; step_ < steps.size(); ++step_) {
      ENCORE_RETURN_IF_ERROR(std::visit(
          [this](const auto& op) { return RunStep(op); }, steps[step_].op));
    }
    for (const SlotId slot : own_) {
      if (plan == graph_.run && RoleOf(slot) == SlotRole::kOutput) continue;
      return Error("P14", "slot ", slot.value(), " is not freed");
    }
    own_ = std::move(outer_own);
    step_ = outer_step;
    plan_ = outer_plan;
    return OkStatus();
  }

  // ---- uses of slots

  Status UseDim(const Dim& dim) {
    bool in_order = true, any = false;
    ForEachSymbol(dim, [&](uint32_t symbol) {
      any = true;
      if (graph_.symbols[symbol].source == SymbolInfo::Source::kSlot) {
        in_order &= state_.defined[symbol];
      }
    });
    if (any && in_prepare()) return Error("P18", "prepare uses a symbol");
    if (!in_order) return Error("P20", "a run-time symbol has no value yet");
    return OkStatus();
  }

  Status UseSizes(SlotId slot) {
    for (; slot.valid(); slot = graph_.slot(slot).base) {
      ENCORE_RETURN_IF_ERROR(UseDim(graph_.slot(slot).bytes));
      ENCORE_RETURN_IF_ERROR(UseDim(graph_.slot(slot).offset));
    }
    return OkStatus();
  }

  // Whether every invoke between here and the alias_set's home declares it.
  Status CheckDeclared(SlotId slot, PlanId plan, bool is_write) {
    const SlotId alias_set = Fact(slot).alias_set;
    const PlanId home = scopes_.home[alias_set.value()];
    const auto names = [&](const std::vector<SlotId>& list) {
      return std::ranges::any_of(list, [&](SlotId other) {
        return Fact(other).alias_set == alias_set;
      });
    };
    for (; plan.valid() && plan != home; plan = scopes_.parent[plan.value()]) {
      const Invoke* invoke = scopes_.invoke[plan.value()];
      if (invoke == nullptr) break;
      if (names(is_write ? invoke->writes : invoke->reads)) continue;
      return Error("P17", "slot ", slot.value(),
                   " is not declared by the step that runs this plan");
    }
    return OkStatus();
  }

  Status CheckAllocated(SlotId slot) {
    const SlotFact& fact = Fact(slot);
    if (!fact.needs_allocate || state_.allocated[fact.storage.value()]) {
      return OkStatus();
    }
    return Error("P12", "slot ", slot.value(), " has no memory");
  }

  ActiveScan* ScanOf(SlotId element) {
    for (ActiveScan& scan : state_.scans) {
      if (scan.element == element) return &scan;
    }
    return nullptr;
  }

  Status Read(SlotId slot, PlanId plan) {
    ENCORE_RETURN_IF_ERROR(UseSizes(slot));
    ENCORE_RETURN_IF_ERROR(CheckAllocated(slot));
    const SlotRole role = RoleOf(slot);
    if (role == SlotRole::kInput && in_prepare()) {
      return Error("P18", "prepare reads an input");
    }
    const ActiveScan* scan = nullptr;
    if (Fact(slot).is_element) {
      scan = ScanOf(slot);
      if (scan == nullptr) {
        return Error("P17", "slot ", slot.value(), " is read outside its scan");
      }
    }
    if (role != SlotRole::kTemporary && role != SlotRole::kOutput &&
        !(role == SlotRole::kDerived && in_prepare())) {
      return OkStatus();
    }
    if (scan != nullptr && scan->written) return OkStatus();
    ENCORE_RETURN_IF_ERROR(CheckDeclared(slot, plan, false));
    const SlotFact& fact = Fact(scan != nullptr ? scan->whole : slot);
    const auto gap = state_.owners[fact.storage.value()].FindGap(
        fact.begin, fact.end, fact.alias_set.value());
    if (!gap) return OkStatus();
    const bool lost = gap->owner != OwnerMap::kNobody;
    return Error("P15", "slot ", slot.value(), " is read, byte ", gap->at,
                 " of its storage ",
                 lost ? StrCat("holds slot ", gap->owner) : "was not written");
  }

  Status Write(SlotId slot, PlanId plan) {
    ENCORE_RETURN_IF_ERROR(UseSizes(slot));
    ENCORE_RETURN_IF_ERROR(CheckAllocated(slot));
    const SlotRole role = RoleOf(slot);
    const SlotRole result =
        in_prepare() ? SlotRole::kDerived : SlotRole::kOutput;
    if (role != SlotRole::kTemporary && role != result) {
      return Error("P18", "slot ", slot.value(), " is not to be written here");
    }
    ENCORE_RETURN_IF_ERROR(CheckDeclared(slot, plan, true));
    ActiveScan* scan = nullptr;
    if (Fact(slot).is_element) {
      scan = ScanOf(slot);
      if (scan == nullptr) {
        return Error("P17", "slot ", slot.value(),
                     " is written outside its scan");
      }
    }
    const SlotFact& fact = Fact(scan != nullptr ? scan->whole : slot);
    OwnerMap& owners = state_.owners[fact.storage.value()];
    owners.TakeFromOthers(fact.begin, fact.end, fact.alias_set.value());
    Clobber(fact);
    if (scan != nullptr) {
      scan->written = true;
    } else {
      owners.Set(fact.begin, fact.end, fact.alias_set.value());
    }
    return DefineSymbols(slot);
  }

  // What is written over the whole of a scan undoes its elements.
  void Clobber(const SlotFact& fact) {
    for (ActiveScan& scan : state_.scans) {
      const SlotFact& whole = Fact(scan.whole);
      if (whole.storage != fact.storage || whole.alias_set == fact.alias_set ||
          whole.begin >= fact.end || fact.begin >= whole.end) {
        continue;
      }
      scan.written = false;
      scan.clobbered = true;
    }
  }

  Status DefineSymbols(SlotId slot) {
    for (uint32_t s = 0; s < graph_.symbols.size(); ++s) {
      const SymbolInfo& info = graph_.symbols[s];
      if (info.source != SymbolInfo::Source::kSlot ||
          info.index != slot.value()) {
        continue;
      }
      if (state_.defined[s]) ENCORE_RETURN_IF_ERROR(RedefineSymbol(s));
      state_.defined[s] = true;
    }
    return OkStatus();
  }

  // Another value of a symbol: memory that was allocated by the old one would
  // be too small, and what was written is no whole tensor any more.
  Status RedefineSymbol(uint32_t symbol) {
    for (uint32_t s = 0; s < graph_.slots.size(); ++s) {
      const Slot& slot = graph_.slots[s];
      bool depends = false;
      const auto note = [&](uint32_t used) { depends |= used == symbol; };
      ForEachSymbol(slot.bytes, note);
      ForEachSymbol(slot.offset, note);
      const SlotFact& fact = facts_[s];
      if (!depends || fact.alias_set != SlotId(s)) continue;
      if (!slot.base.valid() && state_.allocated[s]) {
        return Error("P20", "symbol ", symbol, " changes while slot ", s,
                     " has memory of its size");
      }
      OwnerMap& owners = state_.owners[fact.storage.value()];
      if (!owners.FindGap(fact.begin, fact.end, s)) {
        owners.Set(fact.begin, fact.end, OwnerMap::kNobody);
      }
    }
    return OkStatus();
  }

  bool Overlap(SlotId a, SlotId b) const {
    const SlotFact &x = Fact(a), &y = Fact(b);
    return x.storage == y.storage && x.begin < y.end && y.begin < x.end;
  }

  // ---- steps

  Status RunStep(const Allocate& op) {
    ENCORE_RETURN_IF_ERROR(UseSizes(op.slot));
    ENCORE_RETURN_IF_ERROR(CheckDeclared(op.slot, plan_, true));
    const uint32_t slot = op.slot.value();
    if (state_.allocated[slot]) {
      return Error("P13", "slot ", slot, " is allocated twice");
    }
    if (in_prepare() && RoleOf(op.slot) == SlotRole::kOutput) {
      return Error("P18", "prepare allocates an output");
    }
    state_.allocated[slot] = true;
    state_.owners[slot].Clear();
    own_.push_back(op.slot);
    return OkStatus();
  }

  Status RunStep(const Deallocate& op) {
    const uint32_t slot = op.slot.value();
    if (!state_.allocated[slot]) {
      return Error("P13", "slot ", slot, " is freed without memory");
    }
    const auto own = std::ranges::find(own_, op.slot);
    if (own == own_.end()) {
      return Error("P14", "slot ", slot, " was allocated by another plan");
    }
    own_.erase(own);
    state_.allocated[slot] = false;
    state_.owners[slot].Clear();
    return OkStatus();
  }

  Status RunCopy(SlotId src, SlotId dst, PlanId plan) {
    ENCORE_RETURN_IF_ERROR(Read(src, plan));
    if (Overlap(src, dst)) {
      return Error("P16", "slots ", src.value(), " and ", dst.value(),
                   " overlap");
    }
    return Write(dst, plan);
  }

  Status RunStep(const Copy& op) { return RunCopy(op.src, op.dst, plan_); }

  Status RunStep(const Launch& op) {
    for (const Dim& arg : op.args) ENCORE_RETURN_IF_ERROR(UseDim(arg));
    for (const SlotId slot : op.reads) {
      ENCORE_RETURN_IF_ERROR(Read(slot, plan_));
    }
    for (uint32_t w = 0; w < op.writes.size(); ++w) {
      for (uint32_t other = 0; other < w; ++other) {
        if (op.writes[w] == op.writes[other] ||
            Overlap(op.writes[w], op.writes[other])) {
          return Error("P16", "writes ", other, " and ", w, " overlap");
        }
      }
      for (uint32_t r = 0; r < op.reads.size(); ++r) {
        if (MayOverlap(op, r, w)) continue;
        return Error("P16", "read ", r, " and write ", w, " overlap");
      }
    }
    for (const SlotId slot : op.writes) {
      ENCORE_RETURN_IF_ERROR(Write(slot, plan_));
    }
    return OkStatus();
  }

  bool MayOverlap(const Launch& op, uint32_t read, uint32_t write) const {
    const SlotId r = op.reads[read], w = op.writes[write];
    if (r == w || !Overlap(r, w)) return true;
    const bool paired = std::ranges::any_of(op.in_place, [&](const auto& pair) {
      return pair.read == read && pair.write == write;
    });
    return paired && Fact(r).begin == Fact(w).begin &&
           Fact(r).end == Fact(w).end && !Fact(r).is_element &&
           !Fact(w).is_element &&
           graph_.slot(r).bytes == graph_.slot(w).bytes &&
           graph_.slot(r).offset == graph_.slot(w).offset;
  }

  Status RunStep(const Invoke& op) {
    switch (op.kind) {
      case InvokeKind::kIf:
        return RunIf(op);
      case InvokeKind::kWhile:
        return RunWhile(op);
      case InvokeKind::kScan:
        break;
    }
    return RunScan(op);
  }

  Status RunIf(const Invoke& op) {
    ENCORE_RETURN_IF_ERROR(Read(op.selector, plan_));
    const State before = state_;
    std::optional<State> after;
    for (const PlanId plan : op.plans) {
      state_ = before;
      ENCORE_RETURN_IF_ERROR(RunPlan(plan));
      if (after) state_.Join(*after);
      after = std::move(state_);
    }
    state_ = *std::move(after);
    return OkStatus();
  }

  Status RunBody(const Invoke& op) {
    const PlanId body = op.plans.back();
    ENCORE_RETURN_IF_ERROR(RunPlan(body));
    for (const Invoke::Carried& carried : op.carried) {
      ENCORE_RETURN_IF_ERROR(RunCopy(carried.next, carried.state, body));
      if (!graph_.slot(carried.next).is_host_object()) continue;
      const SlotFact& next = Fact(carried.next);  // moved from
      state_.owners[next.storage.value()].Set(next.begin, next.end,
                                              OwnerMap::kNobody);
    }
    return OkStatus();
  }

  // A byte's owner after a body is what the body put there or what it was, so
  // joining with the first trip's result once is a fixed point.
  Status RunWhile(const Invoke& op) {
    const auto condition = [&]() -> Status {
      ENCORE_RETURN_IF_ERROR(RunPlan(op.plans[0]));
      return Read(op.selector, op.plans[0]);
    };
    const State before = state_;
    ENCORE_RETURN_IF_ERROR(condition());
    ENCORE_RETURN_IF_ERROR(RunBody(op));
    state_.Join(before);
    ENCORE_RETURN_IF_ERROR(condition());
    const State after = state_;
    ENCORE_RETURN_IF_ERROR(RunBody(op));
    state_ = after;
    return OkStatus();
  }

  Status RunScan(const Invoke& op) {
    ENCORE_RETURN_IF_ERROR(UseDim(op.trips));
    for (const Invoke::StackedOperand& scanned : op.scanned) {
      if (ScanOf(scanned.slice) != nullptr) {
        return Error("P11", "slot ", scanned.slice.value(),
                     " is the element of two scans");
      }
      ENCORE_RETURN_IF_ERROR(UseSizes(scanned.slice));
      ENCORE_RETURN_IF_ERROR(CheckAllocated(scanned.stacked));
      state_.scans.push_back({scanned.slice, scanned.stacked});
    }
    const size_t first = state_.scans.size() - op.scanned.size();
    const auto start_trip = [&] {
      for (size_t s = first; s < state_.scans.size(); ++s) {
        state_.scans[s].written = false;
      }
    };
    const State before = state_;
    ENCORE_RETURN_IF_ERROR(RunBody(op));
    state_.Join(before);
    start_trip();
    ENCORE_RETURN_IF_ERROR(RunBody(op));
    const std::vector<ActiveScan> done(state_.scans.begin() + first,
                                       state_.scans.end());
    // There may have been no trip.
    if (!op.trips.is_constant() || op.trips.constant() < 1) {
      state_.Join(before);
    }
    state_.scans.resize(first);
    for (const ActiveScan& scan : done) {
      if (!scan.written || scan.clobbered) continue;
      const SlotFact& whole = Fact(scan.whole);
      state_.owners[whole.storage.value()].Set(whole.begin, whole.end,
                                               whole.alias_set.value());
    }
    return OkStatus();
  }

  const CompiledGraph& graph_;
  const std::vector<SlotFact> facts_;
  const PlanScopes scopes_;
  State state_;
  std::vector<SlotId> own_;  // what the plan under way has allocated
  PlanId root_, plan_;
  uint32_t step_ = 0;
};

}  // namespace

Status CheckFlow(const CompiledGraph& graph) {
  return FlowChecker(graph).Check();
}

}  // namespace encore::runtime
