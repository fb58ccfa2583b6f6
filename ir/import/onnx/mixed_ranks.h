// An If that gives a value in two ranks: one in each branch, and only the data
// say which. No tensor is like that; but what is computed from such a value in
// one branch has a rank. So the nodes that read it move into both branches, up
// to where the ranks agree again.
#ifndef ENCORE_IR_IMPORT_ONNX_MIXED_RANKS_H_
#define ENCORE_IR_IMPORT_ONNX_MIXED_RANKS_H_

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/context.h"
#include "encore/ir/import/onnx/model.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// Unimplemented: what the converter of an If says of such a value.
Status MixedRanks(std::string_view message);
// Whether a status is one of these, and not yet annotated.
bool IsMixedRanks(const Status& status);

// The nodes of a graph in the order in which they are imported.
class NodeQueue {
 public:
  // `graph` outlives this.
  explicit NodeQueue(const Graph& graph);

  // The next node, which is taken out; null at the end. Lives as long as this.
  const Node* Take();

  // Puts `node`, an If that was taken, behind those that depend on nothing that
  // it gives; whether there are any. Of each node only once.
  bool Defer(const Node& node);

  // The node that stands for the If of `context`, which was taken, and for the
  // nodes in the queue that read values of two ranks: those are taken out. Null
  // where nobody wants anything of them. Outputs of the graph that are such
  // values are noted in the scope. An error where a node does not fit a branch.
  StatusOr<const Node*> Absorb(NodeContext& context);

 private:
  using Names = std::set<std::string_view>;
  using Nodes = std::vector<const Node*>;

  // Those in the queue that depend on what `givers` give.
  Nodes Dependents(const Nodes& givers) const;
  // Those that depend on what `node` gives, what they depend on, what depends
  // on that, and so on.
  Nodes Cluster(const Node& node) const;
  // `nodes` of the queue with those before them that they depend on.
  Nodes WithSources(const Nodes& nodes) const;
  // What `node` and `inside` give that is read elsewhere or is the graph's.
  std::vector<std::string_view> Wanted(const Node& node, const Nodes& inside,
                                       bool by_inside) const;
  // An If over `node` and `inside`, which gives `outputs`.
  StatusOr<const Node*> Merge(NodeContext& context, const Nodes& inside,
                              std::vector<std::string_view> outputs);
  // Those of `names` that have two ranks, where `inside` moves into the
  // branches; nothing where a branch is not for the extents given.
  StatusOr<std::optional<Names>> FindMixed(
      NodeContext& context, const Nodes& inside,
      const std::vector<std::string_view>& names);

  const Graph& graph_;
  std::deque<const Node*> nodes_;
  std::set<const Node*> deferred_;
  std::deque<Node> made_;
  std::deque<std::string> names_;
};

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_MIXED_RANKS_H_
