// ChoosePartition: which nodes become one kernel, by extraction over a whole
// graph.
//
// The classes of the extraction problem are values, their nodes the fusion
// variants that write them (variants.h), with the estimates of the backends as
// costs: what is shared, what is computed again and what is fused is one
// choice.
#ifndef ENCORE_BACKENDS_LOWERING_CHOOSE_PARTITION_H_
#define ENCORE_BACKENDS_LOWERING_CHOOSE_PARTITION_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "encore/backends/lowering/group.h"
#include "encore/backends/lowering/group_graph.h"
#include "encore/backends/lowering/lowering_report.h"
#include "encore/backends/lowering/variants.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::backends {

struct PartitionOptions {
  // A gain below this share of the seconds of what changes is none: so far off
  // are estimates of kernels that are cut in different ways.
  double least_gain = 0.2;
  // Of variants, that are looked for.
  unsigned families = kAllVariantFamilies;
};

// As GreedyPartition, or a partition of lower cost. Deterministic; work is
// bounded by numbers of variants and of the extractor's moves.
StatusOr<std::vector<Group>> ChoosePartition(
    const Graph& graph, const FusionContext& context,
    const PartitionOptions& options = {}, PartitionReport* report = nullptr);

// What a partition costs: nothing but `greedy`, `chosen` and `cheapest`, which
// are the same.
PartitionReport ReportOf(std::span<const Group> partition,
                         const PartitionOptions& options, GroupGraph* graph);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_CHOOSE_PARTITION_H_
