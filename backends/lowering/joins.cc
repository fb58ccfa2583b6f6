#include "encore/backends/lowering/joins.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "encore/ir/ops/op.h"

namespace encore::backends {

NodeList NodesFor(const Graph& graph, const NodeList& nodes,
                  std::span<const ValueId> values, ValueId given) {
  std::set<NodeId> needed;
  std::vector<ValueId> work(values.begin(), values.end());
  while (!work.empty()) {
    const ValueId value = work.back();
    work.pop_back();
    const NodeId node = graph.producer(value);
    if (value == given || !Contains(nodes, node) ||
        !needed.insert(node).second) {
      continue;
    }
    const auto operands = graph.operands(node);
    work.insert(work.end(), operands.begin(), operands.end());
  }
  return {needed.begin(), needed.end()};
}

bool AreAtOnePlace(const GroupGraph& groups, const NodeList& nodes) {
  return std::ranges::all_of(nodes, [&](NodeId node) {
    return groups.HasKernel(node) &&
           (groups.IsRematerialized(node) || groups.IsAt(node, nodes.back()));
  });
}

bool MayFail(const Graph& graph, const NodeList& nodes) {
  return std::ranges::any_of(nodes, [&](NodeId node) {
    return MayFail(graph.op(node), graph.attributes(node));
  });
}

Join JoinGroups(const GroupGraph& groups, const Group& reader,
                const NodeList& views, const Group& maker, ValueId value) {
  const Graph& graph = groups.graph();
  Join join;
  const NodeList part = NodesFor(graph, maker.nodes, {{value}});
  join.obstacle = FindObstacleBehind(groups, part, reader.nodes, value);
  if (join.obstacle) return join;
  const NodeList reading = Union(reader.nodes, views);
  if (!MayFail(graph, part)) {
    join.again = Group{Union(reading, part), reader.outputs};
  }
  const NodeList both = Union(reading, maker.nodes);
  std::vector<ValueId> outputs = groups.OutputsOf(both);
  if (!StoresBeforeContraction(groups, both, outputs)) {
    join.whole = Group{both, std::move(outputs)};
  }
  return join;
}

}  // namespace encore::backends
