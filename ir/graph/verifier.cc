#include "encore/ir/graph/verifier.h"

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/graph/symbol_definitions.h"
#include "encore/ir/ops/infer.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

class Verifier {
 public:
  // `defined`: by symbol, whether it has a value where the graph runs.
  Verifier(const Graph& graph, std::vector<bool> defined)
      : graph_(graph), defined_(std::move(defined)) {}

  Status Verify() {
    ENCORE_RETURN_IF_ERROR(CheckSymbols());
    for (const NodeId node : Nodes(graph_)) {
      ENCORE_RETURN_IF_ERROR(CheckRow(node));
      ENCORE_RETURN_IF_ERROR(CheckValues(node));
      ENCORE_RETURN_IF_ERROR(CheckBodies(node));
      if (!IsArgument(node)) ENCORE_RETURN_IF_ERROR(CheckTypes(node));
      ENCORE_RETURN_IF_ERROR(CheckDefinitions(node));
    }
    ENCORE_RETURN_IF_ERROR(CheckArguments());
    return CheckOutputs();
  }

 private:
  static Status Broken(std::string_view invariant, std::string_view message) {
    return InvalidArgumentError(StrCat(invariant, ": ", message));
  }
  Status Broken(std::string_view invariant, NodeId node,
                std::string_view message) const {
    return Broken(invariant, StrCat("node ", node.value(), " (",
                                    graph_.op(node), "): ", message));
  }

  bool IsArgument(NodeId node) const {
    return graph_.op(node) == Op::kInput || graph_.op(node) == Op::kParameter;
  }

  bool InGraph(ValueId value) const {
    return value.valid() &&
           value.value() < static_cast<uint32_t>(graph_.value_count());
  }

  Status CheckSymbols() const {
    std::set<std::string_view> names;
    for (const Symbol& symbol : graph_.symbols()) {
      if (!names.insert(symbol.name).second) {
        return Broken("G9", StrCat("two symbols are named ", symbol.name));
      }
      if (symbol.lower < 0 || symbol.upper < symbol.lower) {
        return Broken("G9", StrCat("symbol ", symbol.name, " has no values"));
      }
    }
    return OkStatus();
  }

  Status CheckRow(NodeId node) const {
    if (static_cast<size_t>(graph_.op(node)) >= AllOps().size()) {
      return Broken("G1", StrCat("node ", node.value(), ": no op ",
                                 static_cast<int>(graph_.op(node))));
    }
    if (graph_.attributes(node).index() == graph_.info(node).attributes) {
      return OkStatus();
    }
    return Broken("G1", node, "attributes of another op");
  }

  Status CheckValues(NodeId node) const {
    for (const ValueId operand : graph_.operands(node)) {
      if (!InGraph(operand) || graph_.producer(operand) >= node) {
        return Broken("G2", node, "an operand that does not come before it");
      }
    }
    for (int i = 0; i < graph_.result_count(node); ++i) {
      const ValueId result = graph_.result(node, i);
      if (!InGraph(result) || graph_.producer(result) != node) {
        return Broken("G3", node, StrCat("result ", i, " is another node's"));
      }
      ENCORE_RETURN_IF_ERROR(CheckType(node, graph_.type(result)));
    }
    return OkStatus();
  }

  Status CheckType(NodeId node, const TensorType& type) const {
    const Shape& shape = type.shape;
    if (shape.rank() > kMaxRank) return Broken("G10", node, "too many dims");
    for (const Dim& dim : shape.dims()) {
      if (!dim.valid() || (dim.is_constant() && dim.constant() < 0) ||
          dim.SymbolLimit() > graph_.symbols().size()) {
        return Broken("G10", node, StrCat("an invalid dim ", dim.ToString()));
      }
    }
    if (Countable(type)) return OkStatus();
    return Broken("G10", node, "a shape too large to count");
  }

  // Bodies nest at most kMaxBodyDepth deep.
  Status CheckBodies(NodeId node) {
    const auto bodies = graph_.bodies(node);
    if (static_cast<int>(bodies.size()) != graph_.info(node).bodies) {
      return Broken("G5", node, StrCat(bodies.size(), " bodies"));
    }
    for (const Graph& body : bodies) {
      if (body.body_depth() >= kMaxBodyDepth ||
          body.body_depth() >= graph_.body_depth()) {
        return Broken("G5", node, "a body that nests too deep");
      }
      if (body.symbols().data() != graph_.symbols().data()) {
        return Broken("G5", node, "a body with other symbols");
      }
      const Status inner = Verifier(body, defined_).Verify();
      if (!inner.ok()) {
        return InvalidArgumentError(StrCat(Message(inner), ", in body ",
                                           body.name(), " of node ",
                                           node.value()));
      }
    }
    return OkStatus();
  }

  Status CheckTypes(NodeId node) const {
    std::vector<TensorType> operands;
    for (const ValueId operand : graph_.operands(node)) {
      operands.push_back(graph_.type(operand));
    }
    std::vector<BodyTypes> bodies;
    for (const Graph& body : graph_.bodies(node)) {
      BodyTypes& types = bodies.emplace_back();
      for (const Graph::Argument& argument : body.arguments()) {
        types.inputs.push_back(body.type(argument.value));
      }
      for (const Graph::Output& output : body.outputs()) {
        types.outputs.push_back(body.type(output.value));
      }
    }
    const auto results = InferTypes({graph_.op(node), graph_.attributes(node),
                                     operands, bodies, graph_.symbols()});
    if (!results.ok()) return Broken("G4", node, Message(results.status()));
    if (static_cast<int>(results->size()) != graph_.result_count(node)) {
      return Broken("G4", node, StrCat(results->size(), " results expected"));
    }
    for (int i = 0; i < graph_.result_count(node); ++i) {
      if (graph_.type(graph_.result(node, i)) == (*results)[i]) continue;
      return Broken("G4", node,
                    StrCat("result ", i, " should be ",
                           (*results)[i].ToString(graph_.symbols())));
    }
    return OkStatus();
  }

  Status CheckDefinitions(NodeId node) {
    if (graph_.info(node).has(kDefinesSymbols)) {
      const bool names = graph_.op(node) == Op::kDefineSymbols;
      for (const Dim& dim : DefiningDims(graph_, node)) {
        const auto symbol = dim.symbol();
        if (!symbol) continue;
        if (names && defined_[*symbol]) {
          return Broken("G11", node,
                        StrCat("symbol ", graph_.symbols()[*symbol].name,
                               " has a value already"));
        }
        defined_[*symbol] = true;
      }
    }
    for (const uint32_t symbol : SymbolsOf(graph_, node)) {
      if (symbol >= defined_.size()) {
        return Broken("G11", node, StrCat("no symbol ", symbol));
      }
      if (defined_[symbol]) continue;
      return Broken("G11", node,
                    StrCat("symbol ", graph_.symbols()[symbol].name,
                           " has no value before it"));
    }
    return OkStatus();
  }

  Status CheckArguments() const {
    std::set<std::string_view> names;
    std::vector<bool> listed(graph_.node_count());
    for (const Graph::Argument& argument : graph_.arguments()) {
      if (!names.insert(argument.name).second) {
        return Broken("G6", StrCat("two arguments ", Quote(argument.name)));
      }
      const NodeId node =
          InGraph(argument.value) ? graph_.producer(argument.value) : NodeId();
      const Op expected = argument.is_parameter ? Op::kParameter : Op::kInput;
      if (!node.valid() || graph_.op(node) != expected ||
          listed[node.value()]) {
        return Broken("G6", StrCat("argument ", Quote(argument.name), " is no ",
                                   expected, " node of its own"));
      }
      listed[node.value()] = true;
      if (argument.data &&
          (!argument.is_parameter ||
           argument.data->type() != graph_.type(argument.value))) {
        return Broken("G7", StrCat("data of argument ", Quote(argument.name)));
      }
    }
    for (const NodeId node : Nodes(graph_)) {
      if (IsArgument(node) && !listed[node.value()]) {
        return Broken("G6", node, "not in the signature");
      }
    }
    return OkStatus();
  }

  Status CheckOutputs() const {
    std::set<std::string_view> names;
    for (const Graph::Output& output : graph_.outputs()) {
      if (!names.insert(output.name).second) {
        return Broken("G8", StrCat("two outputs ", Quote(output.name)));
      }
      if (!InGraph(output.value)) {
        return Broken("G8", StrCat("output ", Quote(output.name),
                                   " is no value of the graph"));
      }
    }
    return OkStatus();
  }

  const Graph& graph_;
  std::vector<bool> defined_;
};

}  // namespace

Status Verify(const Graph& graph) {
  // Symbols of the inputs have values before anything runs.
  std::vector<bool> defined;
  for (const Symbol& symbol : graph.symbols()) {
    defined.push_back(!symbol.at_run_time);
  }
  return Verifier(graph, std::move(defined)).Verify();
}

}  // namespace encore
