// A graph, or a body within it, cut into kernels.
#ifndef ENCORE_BACKENDS_LOWERING_SCOPE_H_
#define ENCORE_BACKENDS_LOWERING_SCOPE_H_

#include <cstdint>
#include <map>
#include <vector>

#include "encore/backends/lowering/choose_partition.h"
#include "encore/backends/lowering/kernels.h"
#include "encore/backends/lowering/lowering_report.h"
#include "encore/backends/lowering/placement.h"
#include "encore/backends/lowering/scope_kernel.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::backends {

struct Scope {
  const Graph* graph = nullptr;
  // In an order in which each comes after those it reads from.
  std::vector<ScopeKernel> kernels;
  // Values that are known once parameters are; indexed by value.
  std::vector<bool> weights;
  // Of nodes with bodies.
  std::map<NodeId, std::vector<Scope>> bodies;
};

// Whether the node gives its first operand, and the run looks at a value for
// it: an assertion, or what defines symbols.
bool IsCheck(const Graph& graph, NodeId node);

// Whether the node gives its first operand, or bytes of it, as they are.
bool IsCheckOrView(const Graph& graph, NodeId node);

// Which argument of its bodies an operand of a node is; -1: none.
int BodyArgumentOf(const Graph& graph, NodeId node, int operand);

// The kernel that makes the value, behind checks and views, in a body where the
// value is a result of control flow; null where there is none, it belongs to
// the prepare plan, or the branches of an If have it made on several devices.
const ScopeKernel* MakerOf(const Scope& scope, ValueId value);
// The first kernel of the run that reads argument `value`, likewise; one in a
// body where none of the scope's own does.
const ScopeKernel* FirstUserOf(const Scope& scope, ValueId value);

// Cuts `graph`, whose node origins are stencil numbers ("#12"), and its bodies;
// adds the kernels to `table`. known_arguments[i]: argument i of a body is
// known once parameters are; empty for the outermost graph. InvalidArgument
// names the node that no kernel computes. `report`, which may be null, is told
// of the choices, at the cost of a second extraction.
StatusOr<Scope> MakeScope(const Graph& graph,
                          const std::vector<bool>& known_arguments,
                          const Placement& placement,
                          const CompileOptions& options, KernelTable* table,
                          LoweringReport* report = nullptr,
                          const PartitionOptions& partition = {});

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_SCOPE_H_
