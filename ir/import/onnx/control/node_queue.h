// An If that gives a value in two ranks: one in each branch, and only the data
// say which. No tensor is like that; but what is computed from such a value in
// one branch has a rank. So the nodes that read it move into both branches, up
// to where the ranks agree again. Where the If is in a branch of another, that
// one is taken apart first.
#ifndef ENCORE_IR_IMPORT_ONNX_CONTROL_NODE_QUEUE_H_
#define ENCORE_IR_IMPORT_ONNX_CONTROL_NODE_QUEUE_H_

#include <deque>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/format/functions.h"
#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// The nodes of a graph in the order in which they are imported.
class NodeQueue {
 public:
  // What the queues of a model and its subgraphs share.
  struct Shared {
    FunctionNames names = {};
    int depth = 0;  // how many such values there are around a node
  };

  // Both outlive this. While a subgraph's queue is there nothing is taken here.
  NodeQueue(const Graph& graph, Shared* shared);
  ~NodeQueue() { shared_->depth = depth_; }
  NodeQueue(const NodeQueue&) = delete;
  NodeQueue& operator=(const NodeQueue&) = delete;

  // The next node, which is taken out; null at the end. Lives as long as this.
  const Node* Take();

  // Puts others into the queue for the node of `context`, which was taken and
  // failed with `why`, at kMixedRanks: an If over it and what reads its values
  // of two ranks, or what is in its branch where the condition is known.
  // Outputs of the graph that have two ranks are noted in the scope. `why`
  // where nothing can be done; an error where a node does not fit a branch.
  Status Replace(NodeContext& context, const Status& why);

 private:
  using Names = std::set<std::string_view>;
  using Nodes = std::vector<const Node*>;

  // Puts the nodes of `branch` into the queue for `node`.
  Status Splice(const Node& node, const Graph& branch);
  // Puts `node`, an If that was taken, behind those that depend on nothing that
  // it gives; whether there are any. Of each node only once.
  bool Defer(const Node& node);
  // The node that stands for the If of `context` and for the nodes that read
  // its values of two ranks, which are taken out. Null where nobody wants
  // anything of them.
  StatusOr<const Node*> Absorb(NodeContext& context);
  // Those in the queue that depend on what `givers` give.
  Nodes Dependents(const Nodes& givers) const;
  // Those that depend on what `node` gives, what they depend on, what depends
  // on that, and so on.
  Nodes Cluster(const Node& node) const;
  // `nodes` of the queue with those before them that they depend on.
  Nodes WithSources(const Nodes& nodes) const;
  // What `node` and `inside` give that is read elsewhere or is the graph's.
  std::vector<std::string_view> ReadOutside(const Node& node,
                                            const Nodes& inside,
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
  Shared* shared_;
  const int depth_;
  std::deque<const Node*> nodes_;
  std::set<const Node*> deferred_, merged_;
  std::deque<Node> made_;
};

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_CONTROL_NODE_QUEUE_H_
