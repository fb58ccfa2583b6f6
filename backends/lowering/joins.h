// Joins: a group and another that makes one of its inputs as one kernel.
#ifndef ENCORE_BACKENDS_LOWERING_JOINS_H_
#define ENCORE_BACKENDS_LOWERING_JOINS_H_

#include <cstddef>
#include <optional>
#include <span>

#include "encore/backends/lowering/fusion_rules.h"
#include "encore/backends/lowering/group.h"
#include "encore/backends/lowering/group_graph.h"
#include "encore/ir/graph/graph.h"

namespace encore::backends {

// Nodes of a group at most; keeps the tracing of one region short.
inline constexpr size_t kMostGroupNodes = 64;

// The nodes among `nodes` that lead to `values`, through none of `given`.
NodeList NodesFor(const Graph& graph, const NodeList& nodes,
                  std::span<const ValueId> values, ValueId given = {});

// Whether all of them run at the place of the last one.
bool AreAtOnePlace(const GroupGraph& graph, const NodeList& nodes);

bool MayFail(const Graph& graph, const NodeList& nodes);

struct Join {
  // Set where the two may not be one kernel; then there is no group.
  std::optional<FusionObstacle> obstacle;
  // The reader, which computes what it reads again for itself; not what may
  // fail.
  std::optional<Group> again;
  // Both, with the outputs of both that others read; not where a contraction
  // would have to store what is moved before it (StoresBeforeContraction).
  std::optional<Group> whole;
};

// `maker` makes the value, which `reader` reads, through `views` or none. Says
// nothing of places, numbers of nodes, cycles and kernels.
Join JoinGroups(const GroupGraph& graph, const Group& reader,
                const NodeList& views, const Group& maker, ValueId value);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_JOINS_H_
