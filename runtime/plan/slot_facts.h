// SlotFacts: what the plan verifier knows of each slot before it runs the
// plans.
#ifndef ENCORE_RUNTIME_PLAN_SLOT_FACTS_H_
#define ENCORE_RUNTIME_PLAN_SLOT_FACTS_H_

#include <cstdint>
#include <vector>

#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

struct SlotFact {
  // The slot whose memory it lies in, and the bytes there that it may occupy
  // under any values of the symbols. A host object is one byte.
  SlotId storage;
  int64_t begin = 0, end = 0;
  // The tensor whose value it is or is part of: itself, or a view's base.
  SlotId alias_set;
  bool needs_allocate = false;  // the storage is an arena or has an Allocate
  bool is_element = false;      // of a Scan
};

// REQUIRES a graph that CheckStructure accepts.
std::vector<SlotFact> ComputeSlotFacts(const CompiledGraph& graph);

// The tree of plans: who invokes whom, and where each alias_set is at home.
struct PlanScopes {
  std::vector<const Invoke*> invoke;  // per plan; null for run and prepare
  std::vector<PlanId> parent;         // per plan
  std::vector<int> depth;             // per plan
  // Per slot that is a alias_set: the innermost plan that holds all its uses.
  std::vector<PlanId> home;
};
PlanScopes ComputePlanScopes(const CompiledGraph& graph,
                             const std::vector<SlotFact>& facts);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_SLOT_FACTS_H_
