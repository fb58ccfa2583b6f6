// Which nodes may be one kernel, by the traits of the op table.
#ifndef ENCORE_BACKENDS_LOWERING_FUSION_RULES_H_
#define ENCORE_BACKENDS_LOWERING_FUSION_RULES_H_

#include <functional>

#include "encore/backends/lowering/group_graph.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/op.h"

namespace encore::backends {

// The node that makes a value, or that leads to it behind views.
using SourceOfValue = std::function<NodeId(ValueId)>;

bool Has(const Graph& graph, const NodeList& nodes, OpTraits trait);

// Whether `from` may become part of the kernel of `into`, which reads it.
bool MayFuse(const GroupGraph& graph, const NodeList& from,
             const NodeList& into, const SourceOfValue& source);

// Whether a kernel of a contraction, `middle` and another contraction, each of
// which reads what comes before it, is worth asking for: rows are combined in
// between, and need not be stored.
bool MayChain(const GroupGraph& graph, const NodeList& first,
              const NodeList& middle, const NodeList& last);

// Whether nodes only move elements, and read each once.
bool OnlyMoves(const Graph& graph, const NodeList& nodes);

// Whether a contraction in `into` reads what `from` only moves: again for
// every product, where it is not moved once before. REQUIRES MayFuse.
bool IsMoveBeforeContraction(const GroupGraph& graph, const NodeList& from,
                             const NodeList& into, const SourceOfValue& source);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_FUSION_RULES_H_
