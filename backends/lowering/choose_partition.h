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
#include <vector>

#include "encore/backends/lowering/group.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::backends {

struct PartitionReport {
  size_t variants = 0;
  // Seconds of a run: of the greedy partition, of the one that is returned, and
  // what no choice of variants is below.
  double greedy = 0, chosen = 0;
  std::optional<double> bound;
};

struct PartitionOptions {
  // A gain below this share of the seconds of what changes is none: so far off
  // are estimates of kernels that are cut in different ways.
  double least_gain = 0.2;
  // What a kernel costs beside its estimate: threads that wait for the others.
  double launch_seconds = 1e-6;
};

// As GreedyPartition, or a partition of lower cost. Deterministic; work is
// bounded by numbers of variants and of the extractor's moves.
StatusOr<std::vector<Group>> ChoosePartition(
    const Graph& graph, const FusionContext& context,
    const PartitionOptions& options = {}, PartitionReport* report = nullptr);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_CHOOSE_PARTITION_H_
