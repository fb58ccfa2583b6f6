// Always-good local rewrites, applied as nodes are added.
//
// Every rewrite is exact for every input: signed zeros, NaN and infinities
// included (x + -0 is x, x + 0 is not where x is -0; NaN payloads are not
// kept). What depends on a policy or on costs belongs into opt/.
#ifndef ENCORE_IR_BUILD_SIMPLIFY_H_
#define ENCORE_IR_BUILD_SIMPLIFY_H_

#include <functional>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"

namespace encore {

// A node that is about to be added, without bodies.
struct PendingNode {
  Op op;
  std::vector<ValueId> operands;
  Attributes attributes;
};

// Nothing to improve; or the node's value, which is there already; or a better
// node.
using Simplified = std::variant<std::monostate, ValueId, PendingNode>;

// One rewrite of a well-typed node without bodies whose (first) result is of
// `type`. Cost: constant in the size of the graph; reads at most 64 elements of
// a constant.
Simplified SimplifyNode(const Graph& graph, const PendingNode& node,
                        const TensorType& type);

// Computes a node: its results, or nothing where it cannot.
using Folder = std::function<std::optional<std::vector<Literal>>(
    Op op, const Attributes& attributes, std::span<const Literal> operands)>;

}  // namespace encore

#endif  // ENCORE_IR_BUILD_SIMPLIFY_H_
