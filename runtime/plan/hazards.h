// What steps touch, and the order that this demands.
//
// Two steps depend when one writes bytes that the other reads or writes. Both
// are derived from the steps' declarations alone; executors with several
// streams or devices order themselves by it.
#ifndef ENCORE_RUNTIME_PLAN_HAZARDS_H_
#define ENCORE_RUNTIME_PLAN_HAZARDS_H_

#include <cstdint>
#include <variant>
#include <vector>

#include "encore/ir/support/overloaded.h"
#include "encore/ir/types/dim_symbols.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/plan/sizes.h"

namespace encore::runtime {

// Calls visit(SlotId, bool is_write) for the slots that a step declares to read
// and write, one of them possibly several times. Allocate and Deallocate write
// their slot: what lies in it is gone. What a run-time size is read from counts
// as read. Sub-plans do not show but through their Invoke.
template <typename Visit>
void ForEachAccess(const CompiledGraph& graph, const Step& step,
                   const Visit& visit);

// The same as lists.
struct StepAccess {
  std::vector<SlotId> reads, writes;
};
StepAccess AccessOf(const CompiledGraph& graph, const Step& step);

// For each step of `plan` the earlier steps it must come after, ascending.
// Steps that others of the list come after anyway may be left out. Places that
// may overlap under some values of the symbols count as overlapping. REQUIRES a
// graph that VerifyPlan accepts.
std::vector<std::vector<uint32_t>> StepDependencies(const CompiledGraph& graph,
                                                    PlanId plan);

// Implementation.

template <typename Visit>
void ForEachAccess(const CompiledGraph& graph, const Step& step,
                   const Visit& visit) {
  const auto read_sizes = [&](const Dim& dim) {
    ForEachSymbol(dim, [&](uint32_t symbol) {
      const SymbolInfo& info = graph.symbols[symbol];
      if (info.source == SymbolInfo::Source::kSlot) {
        visit(SlotId(info.index), false);
      }
    });
  };
  const auto all = [&](const std::vector<SlotId>& slots, bool is_write) {
    for (const SlotId slot : slots) visit(slot, is_write);
  };
  std::visit(Overloaded{
                 [&](const Allocate& op) {
                   read_sizes(op.bytes);
                   visit(op.slot, true);
                 },
                 [&](const Copy& op) {
                   visit(op.src, false);
                   visit(op.dst, true);
                 },
                 [&](const Launch& op) {
                   all(op.reads, false);
                   all(op.writes, true);
                   for (const Dim& arg : op.args) read_sizes(arg);
                 },
                 [&](const Deallocate& op) { visit(op.slot, true); },
                 [&](const Invoke& op) {
                   all(op.reads, false);
                   all(op.writes, true);
                   // A While's selector is its condition's own where nothing
                   // else uses it.
                   if (op.selector.valid()) visit(op.selector, false);
                   read_sizes(op.trips);
                 },
             },
             step.op);
}

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_HAZARDS_H_
