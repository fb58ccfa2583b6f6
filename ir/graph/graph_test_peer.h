// GraphTestPeer: makes graphs that the Graph API refuses to make, for the tests
// of what must notice them.
#ifndef ENCORE_IR_GRAPH_GRAPH_TEST_PEER_H_
#define ENCORE_IR_GRAPH_GRAPH_TEST_PEER_H_

#include <span>
#include <utility>
#include <vector>

#include "encore/ir/graph/graph.h"

namespace encore {

class GraphTestPeer {
 public:
  explicit GraphTestPeer(Graph* graph) : graph_(*graph) {}

  // Appends a node without a look at it.
  NodeId Append(Op op, std::span<const ValueId> operands, Attributes attributes,
                std::span<const TensorType> results,
                std::vector<Graph> bodies = {}) {
    Graph::NodeOptions options;
    options.bodies = std::move(bodies);
    return graph_.Append(op, operands, std::move(attributes), results,
                         std::move(options));
  }

  Op& op(NodeId node) { return graph_.nodes_[node.value()].op; }
  ValueId& operand(NodeId node, int i) {
    return graph_.operands_[graph_.nodes_[node.value()].first_operand + i];
  }
  Attributes& attributes(NodeId node) {
    return graph_.attributes_[graph_.nodes_[node.value()].attributes];
  }
  TensorType& type(ValueId value) { return graph_.values_[value.value()].type; }
  NodeId& producer(ValueId value) {
    return graph_.values_[value.value()].producer;
  }
  std::vector<Graph::Argument>& arguments() { return graph_.arguments_; }
  std::vector<Graph::Output>& outputs() { return graph_.outputs_; }
  std::vector<Symbol>& symbols() { return graph_.symbols_->list; }
  int& body_depth() { return graph_.body_depth_; }

 private:
  Graph& graph_;
};

}  // namespace encore

#endif  // ENCORE_IR_GRAPH_GRAPH_TEST_PEER_H_
