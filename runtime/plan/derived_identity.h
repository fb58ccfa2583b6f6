// What derived slots are made of: a name for the bytes of each that holds in
// any graph, and the part of a prepare plan that makes some of them.
#ifndef ENCORE_RUNTIME_PLAN_DERIVED_IDENTITY_H_
#define ENCORE_RUNTIME_PLAN_DERIVED_IDENTITY_H_

#include <optional>
#include <span>
#include <vector>

#include "encore/ir/support/sha256.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// Slots of role kDerived, in the order of their numbers.
std::vector<SlotId> DerivedSlots(const CompiledGraph& graph);

// Per derived slot a digest of how the prepare plan makes it: the kernels, by
// their identities, on what they read, down to constants and to parameters of
// those digests, in the order of graph.parameters. Slots of equal digests, in
// whatever graphs, hold equal bytes. Nothing where a kernel has no identity, a
// size is not known, or control flow is involved. REQUIRES a graph that
// VerifyPlan accepts. Cost: linear in the plan and in the bytes of the
// constants that it reads.
std::vector<std::optional<Digest>> DerivedIdentities(
    const CompiledGraph& graph, std::span<const Digest> parameters);

// `graph` with those steps of its prepare plan alone that derived slots need
// for which (*wanted)[i], in the order of DerivedSlots. The steps may read the
// others and write none of them: what the same steps make becomes wanted too.
// REQUIRES a graph that VerifyPlan accepts.
CompiledGraph WithPartOfPrepare(const CompiledGraph& graph,
                                std::vector<bool>* wanted);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_DERIVED_IDENTITY_H_
