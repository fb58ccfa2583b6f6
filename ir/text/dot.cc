#include "encore/ir/text/dot.h"

#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/ir/text/attribute_text.h"

namespace encore {
namespace {

// A longer list of attributes (a constant's elements, say) is cut off.
constexpr size_t kMaxAttributes = 100;

// A DOT string, in which a backslash begins an escape.
std::string DotString(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    // Control characters have no escape.
    out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  }
  return out + "\"";
}

class DotPrinter {
 public:
  DotPrinter(const Graph& graph, std::string prefix, int indent,
             std::string* out)
      : graph_(graph), prefix_(std::move(prefix)), indent_(indent), out_(out) {}

  void Print() {
    const std::vector<bool> live = LiveNodes(graph_);
    for (const Graph::Argument& argument : graph_.arguments()) {
      const NodeId node = graph_.producer(argument.value);
      Line(Name(node), " [label=",
           DotString(argument.is_parameter ? StrCat("param ", argument.name)
                                           : argument.name),
           ", shape=oval]");
    }
    for (const NodeId node : Nodes(graph_)) {
      const Op op = graph_.op(node);
      if (!live[node.value()] || op == Op::kInput || op == Op::kParameter) {
        continue;
      }
      Line(Name(node), " [label=", DotString(Label(node)), ", shape=box]");
      for (const ValueId operand : graph_.operands(node)) {
        Edge(operand, Name(node));
      }
      PrintBodies(node);
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Graph::Output& output = graph_.outputs()[i];
      const std::string name = StrCat(prefix_, "o", i);
      Line(name, " [label=", DotString(output.name), ", shape=oval]");
      Edge(output.value, name);
    }
  }

 private:
  template <typename... Pieces>
  void Line(const Pieces&... pieces) {
    out_->append(indent_, ' ');
    StrAppend(out_, pieces..., ";\n");
  }

  std::string Name(NodeId node) const {
    return StrCat(prefix_, "n", node.value());
  }

  std::string Label(NodeId node) const {
    std::string attributes;
    text::AppendAttributes(&attributes, graph_.attributes(node),
                           graph_.symbols());
    if (attributes.size() > kMaxAttributes) {
      attributes.resize(kMaxAttributes);
      attributes += "…";
    }
    const std::string& origin = graph_.origin(node);
    return StrCat(graph_.op(node), attributes, origin.empty() ? "" : "\n",
                  origin);
  }

  void Edge(ValueId value, std::string_view to) {
    Line(Name(graph_.producer(value)), " -> ", to,
         " [label=", DotString(graph_.type(value).ToString(graph_.symbols())),
         "]");
  }

  // Bodies nest at most kMaxBodyDepth deep.
  void PrintBodies(NodeId node) {
    const auto bodies = graph_.bodies(node);
    for (size_t i = 0; i < bodies.size(); ++i) {
      const std::string prefix = StrCat(Name(node), "b", i);
      out_->append(indent_, ' ');
      StrAppend(out_, "subgraph cluster_", prefix, " {\n");
      indent_ += 2;
      Line("label=", DotString(bodies[i].name()));
      // What an edge can point to even where the body is empty.
      Line(prefix, " [shape=point]");
      DotPrinter(bodies[i], prefix, indent_, out_).Print();
      indent_ -= 2;
      Line("}");
      Line(Name(node), " -> ", prefix, " [style=dashed]");
    }
  }

  const Graph& graph_;
  // Of the names of nodes; they are global in DOT.
  const std::string prefix_;
  int indent_;
  std::string* out_;
};

}  // namespace

std::string Dot(const Graph& graph) {
  std::string out = StrCat("digraph ", DotString(graph.name()), " {\n");
  DotPrinter(graph, "", 2, &out).Print();
  return out + "}\n";
}

}  // namespace encore
