// The reference evaluator: what a graph means.
//
// Slow and obvious, the oracle for rewrite rules, importers, backends and
// cached plans. Integers are exact modulo their width; floats are computed in
// double (sums in the order of the elements, without fused operations) and
// rounded to the dtype once per op; composites are computed by their
// definition, not by their decomposition. The results are the same on every
// machine with the same math library.
//
// Only live nodes are evaluated, and a value is freed with its last use. Bodies
// are evaluated recursively (they nest at most kMaxBodyDepth deep).
//
// Errors of a graph name the node, its op and its origin. InvalidArgument where
// arguments do not fit; OutOfRange, with its message, where a guard ends the
// run; ResourceExhausted beyond the options' limits; Unimplemented for custom
// operators without evaluator. Thread-safe.
#ifndef ENCORE_IR_EVAL_EVALUATOR_H_
#define ENCORE_IR_EVAL_EVALUATOR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore {

struct EvaluateOptions {
  // Is given the results of every evaluated node of the graph itself (not of
  // bodies), arguments included; an error ends the evaluation.
  std::function<Status(NodeId, std::span<const Literal>)> on_node;
  // Evaluates custom operators.
  std::function<StatusOr<std::vector<Literal>>(const CustomAttrs&,
                                               std::span<const Literal>)>
      custom;
  // A tensor may have this many bytes, a loop this many iterations. What the
  // operators on host objects give is limited by host/host_ops.h.
  int64_t max_bytes = int64_t{1} << 34;
  int64_t max_iterations = int64_t{1} << 32;
};

// The outputs. `arguments`: a literal per argument of the graph in order; or
// one per argument that carries no data of its own.
StatusOr<std::vector<Literal>> Evaluate(const Graph& graph,
                                        std::span<const Literal> arguments,
                                        const EvaluateOptions& options = {});

// The results of one node without bodies on these operands; dims in attributes
// are constants. Errors name the op.
StatusOr<std::vector<Literal>> EvaluateNode(
    Op op, const Attributes& attributes, std::span<const Literal> operands,
    const EvaluateOptions& options = {});

// EvaluateNode as the builder's folder (builder.h).
std::optional<std::vector<Literal>> FoldByEvaluation(
    Op op, const Attributes& attributes, std::span<const Literal> operands);

}  // namespace encore

#endif  // ENCORE_IR_EVAL_EVALUATOR_H_
