// Graph: a program as data.
//
// SSA over tensors: nodes apply an op to values and give values. Stores are
// flat and only grow; ids are indices into them; a node's operands come before
// it, so ids are a topological order. A node may own bodies, closed graphs that
// take everything they use as inputs. Every node carries an origin, the name
// that the model gave to where it comes from, which transformations hand on.
//
// A Graph is well-typed by construction: AddNode infers types and refuses what
// does not fit. Numbered invariants and the check of all of them are in
// verifier.h.
//
// Inputs and parameters are nodes too (Op::kInput, Op::kParameter); the
// signature lists them in the order in which a caller gives them. A parameter
// is weight data: a compiled graph can be run with another value of it. A
// constant can be specialized on.
//
// Not thread-safe while it grows; any number of threads may read.
#ifndef ENCORE_IR_GRAPH_GRAPH_H_
#define ENCORE_IR_GRAPH_GRAPH_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/typed_id.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"

namespace encore {

struct NodeTag {};
struct ValueTag {};
using NodeId = TypedId<NodeTag>;
using ValueId = TypedId<ValueTag>;

// Bodies nest at most this deep.
inline constexpr int kMaxBodyDepth = 64;

class Graph {
 public:
  // An input or parameter of the signature.
  struct Argument {
    std::string name;
    ValueId value;
    bool is_parameter = false;
    // The weight data, where the graph carries it (parameters only).
    std::optional<Literal> data;
  };
  struct Output {
    std::string name;
    ValueId value;
  };
  struct NodeOptions;

  explicit Graph(std::string name = "main");
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  // A deep copy; literals are shared.
  Graph Clone() const;
  // An empty graph that shares this one's symbols, to become the body of a node
  // of it.
  Graph NewBody(std::string name) const;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  // --- Growing.

  // The number of a new symbol. InvalidArgument for a name in use or no
  // identifier, and for bounds that are negative or empty.
  StatusOr<uint32_t> AddSymbol(Symbol symbol);

  // InvalidArgument where an argument of that name is there or the type is
  // impossible.
  StatusOr<ValueId> AddInput(std::string name, TensorType type,
                             std::string_view origin = {});
  // As above; `data`, where given, must have the type.
  StatusOr<ValueId> AddParameter(std::string name, TensorType type,
                                 std::optional<Literal> data = std::nullopt,
                                 std::string_view origin = {});

  // Appends a node. InvalidArgument (see infer.h) where it would not be
  // well-typed; the graph is then as before. REQUIRES operands of this graph.
  StatusOr<NodeId> AddNode(Op op, std::span<const ValueId> operands,
                           Attributes attributes, NodeOptions options);
  StatusOr<NodeId> AddNode(Op op, std::span<const ValueId> operands,
                           Attributes attributes = NoneAttrs());

  // The result types that a node without bodies would have; errors as above.
  StatusOr<std::vector<TensorType>> Infer(Op op,
                                          std::span<const ValueId> operands,
                                          const Attributes& attributes) const;

  // InvalidArgument where an output of that name is there.
  Status AddOutput(std::string name, ValueId value);

  // --- Reading. References to types and shapes stay valid, other references
  // and spans until the graph grows.

  int node_count() const { return static_cast<int>(nodes_.size()); }
  int value_count() const { return static_cast<int>(values_.size()); }

  Op op(NodeId node) const { return nodes_[node.value()].op; }
  const OpInfo& info(NodeId node) const { return Info(op(node)); }
  const Attributes& attributes(NodeId node) const {
    return attributes_[nodes_[node.value()].attributes];
  }
  template <typename Attrs>
  const Attrs& attrs(NodeId node) const {
    return attributes(node).Get<Attrs>();
  }
  std::span<const ValueId> operands(NodeId node) const;
  ValueId operand(NodeId node, int i) const { return operands(node)[i]; }
  int result_count(NodeId node) const {
    return static_cast<int>(nodes_[node.value()].result_count);
  }
  // Result i; REQUIRES i < result_count.
  ValueId result(NodeId node, int i = 0) const {
    return ValueId(nodes_[node.value()].first_result + i);
  }
  std::span<const Graph> bodies(NodeId node) const;
  const std::string& origin(NodeId node) const {
    return origins_[nodes_[node.value()].origin];
  }

  const TensorType& type(ValueId value) const {
    return values_[value.value()].type;
  }
  const Shape& shape(ValueId value) const { return type(value).shape; }
  DType dtype(ValueId value) const { return type(value).dtype; }
  NodeId producer(ValueId value) const {
    return values_[value.value()].producer;
  }
  // Which of its producer's results it is.
  int result_index(ValueId value) const {
    return static_cast<int>(value.value() -
                            nodes_[producer(value).value()].first_result);
  }
  // The literal of a constant node's value, else null.
  const Literal* constant(ValueId value) const;

  std::span<const Argument> arguments() const { return arguments_; }
  // The argument a value is, where its producer is an input or parameter.
  const Argument* argument(ValueId value) const;
  std::span<const Output> outputs() const { return outputs_; }
  std::span<const Symbol> symbols() const { return symbols_->list; }
  std::optional<uint32_t> FindSymbol(std::string_view name) const;

  // How deep bodies nest: 0 where no node has one.
  int body_depth() const { return body_depth_; }

  // Sets or drops weight data; REQUIRES a parameter of that type.
  void set_parameter_data(int argument, std::optional<Literal> data);

 private:
  // Breaks invariants, for the tests of what checks them.
  friend class GraphTestPeer;

  struct Node {
    Op op;
    uint32_t attributes;
    uint32_t first_operand, operand_count;
    uint32_t first_result, result_count;
    uint32_t first_body, body_count;
    uint32_t origin;
  };
  struct Value {
    NodeId producer;
    TensorType type;
  };
  struct SymbolTable {
    std::vector<Symbol> list;
    std::unordered_map<std::string, uint32_t> numbers;
  };

  StatusOr<ValueId> AddArgument(Op op, Argument argument, TensorType type,
                                std::string_view origin);
  NodeId Append(Op op, std::span<const ValueId> operands, Attributes attributes,
                std::span<const TensorType> results, NodeOptions options);
  std::vector<TensorType> TypesOf(std::span<const ValueId> operands) const;
  uint32_t InternOrigin(std::string_view origin);

  std::string name_;
  std::shared_ptr<SymbolTable> symbols_;
  std::vector<Node> nodes_;
  // A deque: types stay where they are while the graph grows.
  std::deque<Value> values_;
  std::vector<ValueId> operands_;
  std::vector<Attributes> attributes_;
  std::vector<Graph> bodies_;
  std::vector<std::string> origins_;
  std::vector<Argument> arguments_;
  std::unordered_set<std::string> argument_names_, output_names_;
  // Argument number by node, for producers that are one.
  std::vector<std::pair<NodeId, uint32_t>> argument_nodes_;
  std::vector<Output> outputs_;
  int body_depth_ = 0;
};

struct Graph::NodeOptions {
  std::string_view origin = {};
  std::vector<Graph> bodies = {};
};

// All node ids of `graph` in order.
class NodeRange {
 public:
  class Iterator {
   public:
    explicit Iterator(uint32_t at) : at_(at) {}
    NodeId operator*() const { return NodeId(at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    uint32_t at_;
  };
  explicit NodeRange(const Graph& graph) : end_(graph.node_count()) {}
  Iterator begin() const { return Iterator(0); }
  Iterator end() const { return Iterator(end_); }

 private:
  uint32_t end_;
};
inline NodeRange Nodes(const Graph& graph) { return NodeRange(graph); }

// Whether each node, by number, is reached from outputs.
std::vector<bool> LiveNodes(const Graph& graph);

// How often each value is used by live nodes and outputs; indexed by value.
std::vector<int> UseCounts(const Graph& graph);

}  // namespace encore

#endif  // ENCORE_IR_GRAPH_GRAPH_H_
