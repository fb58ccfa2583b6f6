// Which nodes may be one kernel, by the traits of the op table.
#ifndef ENCORE_BACKENDS_LOWERING_FUSION_RULES_H_
#define ENCORE_BACKENDS_LOWERING_FUSION_RULES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "encore/backends/lowering/group_graph.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/op.h"

namespace encore::backends {

// The node that makes a value, or that leads to it behind views.
using SourceOfValue = std::function<NodeId(ValueId)>;

bool Has(const Graph& graph, const NodeList& nodes, OpTraits trait);

// What keeps two kernels apart, whatever they cost.
enum class FusionRule : uint8_t {
  kEndsKernel,           // nothing follows such a node in its kernel
  kMayFail,              // kernels of contractions report nothing
  kReducesContraction,   // a contraction's result is not reduced with it
  kReadsAgain,           // what is read more than once is not computed for it
  kCombinesWindows,      // not even moved, where what reads it combines windows
  kCombinesBesideReread  // what combines stays apart from what reads again
};
// Which rule, by the traits of which node, one of `from` or of `into`.
struct FusionObstacle {
  FusionRule rule;
  NodeId node;
};
// What the rule says of the node, with the trait that it asks for, as in
// "concat ends its kernel (kEndsKernel)".
std::string ToText(const Graph& graph, const FusionObstacle& obstacle);

// Why `from` may not become part of the kernel of `into`, which reads it;
// nothing: it may.
std::optional<FusionObstacle> FindObstacle(const GroupGraph& graph,
                                           const NodeList& from,
                                           const NodeList& into,
                                           const SourceOfValue& source);
bool MayFuse(const GroupGraph& graph, const NodeList& from,
             const NodeList& into, const SourceOfValue& source);

// The same of what reads the value that `from` makes, and all that it leads to
// in `into`: what else `into` computes may stand beside `from`.
std::optional<FusionObstacle> FindObstacleBehind(const GroupGraph& graph,
                                                 const NodeList& from,
                                                 const NodeList& into,
                                                 ValueId value);

// Whether a kernel of a contraction, `middle` and another contraction, each of
// which reads what comes before it, is worth asking for: rows are combined in
// between, and need not be stored.
bool MayChain(const GroupGraph& graph, const NodeList& first,
              const NodeList& middle, const NodeList& last);

// Whether a contraction among the nodes reads what another one of them
// computes with nothing combined in between, so that it would be computed again
// for each product.
bool RepeatsContraction(const GroupGraph& graph, const NodeList& nodes);

// Whether an output is computed before a contraction of the nodes, and not
// behind one: a kernel of both would store it from within its products, and
// could not update it in place.
bool StoresBeforeContraction(const GroupGraph& graph, const NodeList& nodes,
                             std::span<const ValueId> outputs);

// Whether nodes only move elements, or make wider floats of them, and read each
// once.
bool OnlyMoves(const Graph& graph, const NodeList& nodes);

// Whether a contraction in `into` reads what `from` only moves: again for
// every product, where it is not moved once before. REQUIRES MayFuse.
bool IsMoveBeforeContraction(const GroupGraph& graph, const NodeList& from,
                             const NodeList& into, const SourceOfValue& source);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_FUSION_RULES_H_
