// TensorProgram: a graph in an e-graph, and a choice from it as a graph again.
//
// Every live node is there. Those that stay as they are (anchors): nodes that
// may fail or that define symbols, control flow, host objects and what touches
// them, operators of the caller's own, and every node whose operands, results
// or attributes have sizes that are known at run time only. An anchor that the
// graph has, its choice has, in the order in which they were; only what
// computes their operands may be another node.
#ifndef ENCORE_OPT_TENSOR_TENSOR_PROGRAM_H_
#define ENCORE_OPT_TENSOR_TENSOR_PROGRAM_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/tensor/tensor_egraph.h"
#include "encore/opt/tensor/wide_weights.h"

namespace encore::opt {

// Whether a node has one result, no bodies, and only tensors of sizes that are
// known before a run. One that is plain and cannot fail is no anchor.
bool IsPlain(const Graph& graph, NodeId node);

// The bodies of a node of the graph, for a node of the graph `to`.
using BodiesOf =
    std::function<StatusOr<std::vector<Graph>>(NodeId node, const Graph& to)>;

class TensorProgram {
 public:
  // Adds the graph; both outlive this. REQUIRES an e-graph without nodes, over
  // the graph's symbols.
  TensorProgram(const Graph& graph, TensorEGraph* tensors);

  // What must be computed: the outputs' classes, the anchors' tuples.
  std::vector<egraph::ClassId> Roots() const;
  // Nodes of the e-graph that are the graph's, by id; those from here on are
  // made by rules.
  uint32_t node_limit() const { return node_limit_; }
  // By node of the e-graph, which is rebuilt: the least node below node_limit()
  // that it is, or kNotOwn. Where congruence makes one of two nodes, the one
  // that a rule made may be the one that stays.
  static constexpr uint32_t kNotOwn = UINT32_MAX;
  std::vector<uint32_t> OwnNumbers() const;
  // How many nodes of the graph are no anchors, arguments or constants.
  int free_nodes() const { return free_nodes_; }
  bool is_anchor(NodeId node) const { return anchors_[node.value()]; }
  // The node of the graph that a node of the e-graph below node_limit() is, or
  // is a part of.
  NodeId made_of(egraph::NodeId node) const { return made_of_[node.value()]; }
  // Invalid where no live node gives the value.
  egraph::ClassId class_of(ValueId value) const {
    const egraph::ClassId c = values_[value.value()];
    return c.valid() ? tensors_->graph().Find(c) : c;
  }

  // The graph that computes each class as `choice` says; a class's node must
  // not need the class. `to` has the symbols and nothing else. Names,
  // arguments, outputs and origins are the graph's; a node that a rule made has
  // the origin of the first node that uses it. FailedPrecondition where anchors
  // would change their order, or a choice needs itself.
  StatusOr<Graph> Rebuild(
      const std::function<egraph::NodeId(egraph::ClassId)>& choice, Graph to,
      const BodiesOf& bodies,
      WeightArithmetic weights = WeightArithmetic::kOwnType) const;

 private:
  class Rebuilder;

  const Graph& graph_;
  TensorEGraph* const tensors_;
  std::vector<bool> anchors_;            // by node
  std::vector<egraph::ClassId> values_;  // by value; invalid where not live
  std::vector<egraph::ClassId> tuples_;  // by node; of anchors
  std::vector<NodeId> made_of_;          // by node of the e-graph
  struct OwnNode {
    egraph::OpId op;  // invalid for ids that are no nodes
    std::vector<egraph::Value> args;
  };
  std::vector<OwnNode> own_;  // by node of the e-graph
  uint32_t node_limit_ = 0;
  int free_nodes_ = 0;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_TENSOR_PROGRAM_H_
