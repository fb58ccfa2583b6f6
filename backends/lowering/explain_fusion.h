// Why the kernels of a partition end where they end.
#ifndef ENCORE_BACKENDS_LOWERING_EXPLAIN_FUSION_H_
#define ENCORE_BACKENDS_LOWERING_EXPLAIN_FUSION_H_

#include <functional>
#include <span>
#include <string>

#include "encore/backends/lowering/choose_partition.h"
#include "encore/backends/lowering/group.h"
#include "encore/backends/lowering/group_graph.h"
#include "encore/ir/graph/graph.h"

namespace encore::backends {

struct FusionTextOptions {
  // What a node is called; empty: by its op alone.
  std::function<std::string(NodeId)> name = [](NodeId) { return ""; };
  // Of a backend's number.
  std::function<std::string(int)> backend = [](int) { return ""; };
  PartitionOptions partition;
};

// For each kernel a line with its nodes (without views and what costs nothing
// to compute again) and estimated seconds, launch included, and for each kernel
// that makes one of its inputs, reads one of its outputs, or reads an input
// beside it, a line that says what the two would cost as one kernel (or where
// one computes what it reads again) against what they cost, or what keeps them
// apart: a rule of the op table's traits, a cycle, a kernel that no backend
// has. Pairs are told once, at the later kernel. Kernels are numbered in the
// order of `groups`. Deterministic.
std::string ExplainFusion(std::span<const Group> groups, GroupGraph* graph,
                          const FusionTextOptions& options);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_EXPLAIN_FUSION_H_
