#include "encore/ir/graph/equal.h"

#include <algorithm>
#include <vector>

#include "encore/ir/support/strings.h"

namespace encore {
namespace {

bool IsArgument(const Graph& graph, NodeId node) {
  return graph.op(node) == Op::kInput || graph.op(node) == Op::kParameter;
}

std::vector<NodeId> OtherNodes(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (const NodeId node : Nodes(graph)) {
    if (!IsArgument(graph, node)) nodes.push_back(node);
  }
  return nodes;
}

// Compares two graphs, which hold no bodies' values.
class GraphComparison {
 public:
  GraphComparison(const Graph& a, const Graph& b) : a_(a), b_(b) {}

  std::optional<std::string> Compare() {
    if (a_.name() != b_.name()) return Different("names", a_.name(), b_.name());
    to_b_.resize(a_.value_count());
    if (auto difference = CompareArguments()) return difference;
    const std::vector<NodeId> a_nodes = OtherNodes(a_);
    const std::vector<NodeId> b_nodes = OtherNodes(b_);
    if (a_nodes.size() != b_nodes.size()) {
      return Different("node counts", a_nodes.size(), b_nodes.size());
    }
    for (size_t i = 0; i < a_nodes.size(); ++i) {
      if (auto difference = CompareNodes(a_nodes[i], b_nodes[i])) {
        return StrCat("node ", i, " (", a_.op(a_nodes[i]), "): ", *difference);
      }
    }
    return CompareOutputs();
  }

 private:
  template <typename T>
  static std::string Different(std::string_view what, const T& a, const T& b) {
    return StrCat(what, " differ: ", a, " and ", b);
  }

  std::optional<std::string> CompareTypes(ValueId a, ValueId b) {
    if (a_.type(a) == b_.type(b)) return std::nullopt;
    return Different("types", a_.type(a).ToString(a_.symbols()),
                     b_.type(b).ToString(b_.symbols()));
  }

  std::optional<std::string> CompareArguments() {
    const auto a = a_.arguments(), b = b_.arguments();
    if (a.size() != b.size()) {
      return Different("argument counts", a.size(), b.size());
    }
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].name != b[i].name) {
        return Different("argument names", a[i].name, b[i].name);
      }
      const std::string where = StrCat("argument ", a[i].name, ": ");
      if (a[i].is_parameter != b[i].is_parameter) {
        return StrCat(where, "one is a parameter");
      }
      if (auto difference = CompareTypes(a[i].value, b[i].value)) {
        return where + *difference;
      }
      if (a[i].data != b[i].data) return StrCat(where, "data differ");
      const std::string& a_origin = a_.origin(a_.producer(a[i].value));
      const std::string& b_origin = b_.origin(b_.producer(b[i].value));
      if (a_origin != b_origin) {
        return where + Different("origins", a_origin, b_origin);
      }
      to_b_[a[i].value.value()] = b[i].value;
    }
    return std::nullopt;
  }

  std::optional<std::string> CompareNodes(NodeId a, NodeId b) {
    if (a_.op(a) != b_.op(b)) return Different("ops", a_.op(a), b_.op(b));
    if (a_.attributes(a) != b_.attributes(b)) return "attributes differ";
    if (a_.origin(a) != b_.origin(b)) {
      return Different("origins", a_.origin(a), b_.origin(b));
    }
    const auto a_operands = a_.operands(a), b_operands = b_.operands(b);
    if (a_operands.size() != b_operands.size()) {
      return Different("operand counts", a_operands.size(), b_operands.size());
    }
    for (size_t i = 0; i < a_operands.size(); ++i) {
      if (to_b_[a_operands[i].value()] != b_operands[i]) {
        return StrCat("operand ", i, " is another value");
      }
    }
    if (a_.result_count(a) != b_.result_count(b)) {
      return Different("result counts", a_.result_count(a), b_.result_count(b));
    }
    for (int i = 0; i < a_.result_count(a); ++i) {
      if (auto difference = CompareTypes(a_.result(a, i), b_.result(b, i))) {
        return StrCat("result ", i, ": ", *difference);
      }
      to_b_[a_.result(a, i).value()] = b_.result(b, i);
    }
    return CompareBodies(a_.bodies(a), b_.bodies(b));
  }

  // Bodies nest at most kMaxBodyDepth deep.
  static std::optional<std::string> CompareBodies(std::span<const Graph> a,
                                                  std::span<const Graph> b) {
    if (a.size() != b.size()) {
      return Different("body counts", a.size(), b.size());
    }
    for (size_t i = 0; i < a.size(); ++i) {
      if (auto difference = GraphComparison(a[i], b[i]).Compare()) {
        return StrCat("body ", i, ": ", *difference);
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> CompareOutputs() {
    const auto a = a_.outputs(), b = b_.outputs();
    if (a.size() != b.size()) {
      return Different("output counts", a.size(), b.size());
    }
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].name != b[i].name) {
        return Different("output names", a[i].name, b[i].name);
      }
      if (to_b_[a[i].value.value()] != b[i].value) {
        return StrCat("output ", a[i].name, " is another value");
      }
    }
    return std::nullopt;
  }

  const Graph& a_;
  const Graph& b_;
  // The value of b for each of a.
  std::vector<ValueId> to_b_;
};

}  // namespace

std::optional<std::string> FirstDifference(const Graph& a, const Graph& b) {
  const auto a_symbols = a.symbols(), b_symbols = b.symbols();
  if (!std::equal(a_symbols.begin(), a_symbols.end(), b_symbols.begin(),
                  b_symbols.end())) {
    return "symbols differ";
  }
  return GraphComparison(a, b).Compare();
}

}  // namespace encore
