// Fusion variants: sets of nodes that might become one kernel, near those that
// the greedy partition chose.
#ifndef ENCORE_BACKENDS_LOWERING_VARIANTS_H_
#define ENCORE_BACKENDS_LOWERING_VARIANTS_H_

#include <span>
#include <vector>

#include "encore/backends/lowering/group.h"
#include "encore/backends/lowering/group_graph.h"
#include "encore/ir/graph/graph.h"

namespace encore::backends {

struct Variant {
  Group group;
  // Of a run: what the prepare plan computes is spread over
  // FusionContext::calls.
  double seconds = 0;
  // What its nodes read that is not theirs, and what they need to be there.
  std::vector<ValueId> reads;
};

// Each node by itself, the groups of `partition`, and near these
//   * both sides of a cut through a group;
//   * a group with what makes one of its inputs: computed again for it, or with
//     all that others read of it as outputs as well;
//   * a contraction with what it reads back to another one, where rows are
//     combined in between;
//   * groups that read the same value and write equal shapes.
// A bounded number for each value; all have kernels. What may fail is computed
// once only. Deterministic.
std::vector<Variant> FindVariants(std::span<const Group> partition,
                                  GroupGraph* graph);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_VARIANTS_H_
