// Fusion: which nodes become one kernel.
//
// GreedyPartition takes producers into the kernels that read them, wherever
// that is possible; cheap nodes (broadcasts, iotas) alone are in several
// groups. ChoosePartition (choose_partition.h) starts from it.
#ifndef ENCORE_BACKENDS_LOWERING_FUSION_H_
#define ENCORE_BACKENDS_LOWERING_FUSION_H_

#include <vector>

#include "encore/backends/lowering/group.h"
#include "encore/backends/lowering/group_graph.h"
#include "encore/ir/graph/graph.h"

namespace encore::backends {

// Groups in an order in which each comes after those it reads from. Covers all
// live nodes with a site, but for reshapes left as views. Deterministic.
std::vector<Group> GreedyPartition(const Graph& graph,
                                   const FusionContext& context);
// The same of a graph whose sets of nodes may have been asked for before.
std::vector<Group> GreedyPartition(GroupGraph* graph);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_FUSION_H_
