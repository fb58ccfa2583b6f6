#include "encore/runtime/plan/slot_facts.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "encore/ir/support/integers.h"
#include "encore/ir/support/overloaded.h"
#include "encore/runtime/plan/sizes.h"

namespace encore::runtime {
namespace {

class ScopeFinder {
 public:
  ScopeFinder(const CompiledGraph& graph, const std::vector<SlotFact>& facts)
      : graph_(graph), facts_(facts) {
    scopes_.invoke.resize(graph.plans.size());
    scopes_.parent.resize(graph.plans.size());
    scopes_.depth.resize(graph.plans.size());
    scopes_.home.resize(graph.slots.size());
  }

  PlanScopes Find() {
    std::vector<PlanId> order;
    if (graph_.prepare.valid()) order.push_back(graph_.prepare);
    order.push_back(graph_.run);
    for (size_t i = 0; i < order.size(); ++i) {
      for (const Step& step : graph_.plan(order[i]).steps) {
        const auto enter = [&](const Invoke& invoke) {
          for (const PlanId sub : invoke.plans) {
            scopes_.invoke[sub.value()] = &invoke;
            scopes_.parent[sub.value()] = order[i];
            scopes_.depth[sub.value()] = scopes_.depth[order[i].value()] + 1;
            order.push_back(sub);
          }
        };
        std::visit(
            Overloaded{enter, Ignore<Allocate, Copy, Launch, Deallocate>()},
            step.op);
      }
    }
    for (const PlanId plan : order) {
      plan_ = plan;
      for (const Step& step : graph_.plan(plan).steps) {
        std::visit([this](const auto& op) { Add(op); }, step.op);
      }
    }
    return std::move(scopes_);
  }

 private:
  void Touch(SlotId slot, PlanId plan) {
    PlanId& home = scopes_.home[facts_[slot.value()].alias_set.value()];
    if (!home.valid()) {
      home = plan;
      return;
    }
    // Prepare and run have no common plan: the last one is kept, and reading
    // what the other wrote is found when the plans are run.
    while (home != plan && home.valid() && plan.valid()) {
      const bool up_home =
          scopes_.depth[home.value()] >= scopes_.depth[plan.value()];
      PlanId& deeper = up_home ? home : plan;
      const PlanId parent = scopes_.parent[deeper.value()];
      if (!parent.valid()) return;
      deeper = parent;
    }
  }

  void Add(const Allocate& op) { Touch(op.slot, plan_); }
  void Add(const Deallocate& op) { Touch(op.slot, plan_); }
  void Add(const Copy& op) {
    Touch(op.src, plan_);
    Touch(op.dst, plan_);
  }
  void Add(const Launch& op) {
    for (const SlotId slot : op.reads) Touch(slot, plan_);
    for (const SlotId slot : op.writes) Touch(slot, plan_);
  }
  void Add(const Invoke& op) {
    if (op.kind == InvokeKind::kIf) Touch(op.selector, plan_);
    if (op.kind == InvokeKind::kWhile) Touch(op.selector, op.plans[0]);
    for (const Invoke::Carried& carried : op.carried) {
      Touch(carried.state, op.plans.back());
      Touch(carried.next, op.plans.back());
    }
    for (const Invoke::StackedOperand& scanned : op.scanned) {
      Touch(scanned.stacked, plan_);
    }
  }

  const CompiledGraph& graph_;
  const std::vector<SlotFact>& facts_;
  PlanScopes scopes_;
  PlanId plan_;
};

}  // namespace

std::vector<SlotFact> ComputeSlotFacts(const CompiledGraph& graph) {
  const std::vector<Symbol> symbols = DimSymbols(graph);
  std::vector<SlotFact> facts(graph.slots.size());
  for (uint32_t s = 0; s < facts.size(); ++s) {
    SlotFact& fact = facts[s];
    const Slot& slot = graph.slots[s];
    fact.end = slot.is_host_object() && !slot.is_arena
                   ? 1
                   : slot.bytes.UpperBound(symbols);
    fact.alias_set = SlotId(s);
    SlotId at(s);
    while (graph.slot(at).base.valid()) {
      const Dim& offset = graph.slot(at).offset;
      const int64_t low = std::max<int64_t>(offset.LowerBound(symbols), 0);
      fact.begin = SaturatingAdd(fact.begin, low);
      fact.end = SaturatingAdd(fact.end, offset.UpperBound(symbols));
      at = graph.slot(at).base;
      if (!graph.slot(at).is_arena) fact.alias_set = at;
    }
    fact.storage = at;
    const Slot& storage = graph.slot(at);
    fact.needs_allocate = !storage.is_host_object() || storage.is_arena
                              ? storage.role == SlotRole::kTemporary ||
                                    (storage.role == SlotRole::kOutput &&
                                     IsRunTimeSized(graph, storage.bytes))
                              : false;
  }
  const Overloaded mark_elements{
      [&](const Invoke& invoke) {
        for (const Invoke::StackedOperand& scanned : invoke.scanned) {
          facts[scanned.slice.value()].is_element = true;
        }
      },
      Ignore<Allocate, Copy, Launch, Deallocate>()};
  for (const Plan& plan : graph.plans) {
    for (const Step& step : plan.steps) std::visit(mark_elements, step.op);
  }
  return facts;
}

PlanScopes ComputePlanScopes(const CompiledGraph& graph,
                             const std::vector<SlotFact>& facts) {
  return ScopeFinder(graph, facts).Find();
}

}  // namespace encore::runtime
