#include "encore/ir/text/printer.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/ir/text/attribute_text.h"
#include "encore/ir/text/literal_text.h"

namespace encore {
namespace {

bool IsIdentifier(std::string_view name) {
  const auto inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (c >= '0' && c <= '9');
  };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::all_of(name.begin(), name.end(), inner);
}

std::string NameText(std::string_view name) {
  return IsIdentifier(name) ? std::string(name) : Quote(name);
}

class GraphPrinter {
 public:
  GraphPrinter(const Graph& graph, const PrintOptions& options, int indent,
               std::string* out)
      : graph_(graph), options_(options), indent_(indent), out_(out) {}

  void Print() {
    NameValues();
    StrAppend(out_, "graph ", NameText(graph_.name()), "(");
    for (size_t i = 0; i < graph_.arguments().size(); ++i) {
      if (i > 0) StrAppend(out_, ", ");
      PrintArgument(graph_.arguments()[i]);
    }
    StrAppend(out_, ") -> ");
    PrintOutputTypes();
    StrAppend(out_, " {\n");
    for (const NodeId node : Nodes(graph_)) {
      const Op op = graph_.op(node);
      if (op != Op::kInput && op != Op::kParameter) PrintNode(node);
    }
    PrintReturn();
    Indent(0);
    StrAppend(out_, "}\n");
  }

 private:
  void Indent(int more) { out_->append(indent_ + more, ' '); }

  // Names every value; no two alike.
  void NameValues() {
    names_.resize(graph_.value_count());
    std::set<std::string_view> taken;
    for (const Graph::Argument& argument : graph_.arguments()) {
      names_[argument.value.value()] = NameText(argument.name);
      taken.insert(argument.name);
    }
    for (const Graph::Output& output : graph_.outputs()) {
      std::string& name = names_[output.value.value()];
      if (name.empty() && IsIdentifier(output.name) &&
          taken.insert(output.name).second) {
        name = output.name;
      }
    }
    int number = 0;
    for (std::string& name : names_) {
      if (name.empty()) name = StrCat(number++);
    }
  }

  const std::string& NameOf(ValueId value) const {
    return names_[value.value()];
  }

  void PrintOrigin(NodeId node) {
    if (!graph_.origin(node).empty()) {
      StrAppend(out_, " @", Quote(graph_.origin(node)));
    }
  }

  std::string TypeText(ValueId value) const {
    return graph_.type(value).ToString(graph_.symbols());
  }

  void PrintArgument(const Graph::Argument& argument) {
    StrAppend(out_, "%", NameOf(argument.value), ": ",
              argument.is_parameter ? "param " : "", TypeText(argument.value));
    if (argument.data && options_.parameter_data) {
      StrAppend(out_, " = ");
      text::AppendLiteral(out_, *argument.data);
    }
    PrintOrigin(graph_.producer(argument.value));
  }

  void PrintOutputTypes() {
    const auto outputs = graph_.outputs();
    if (outputs.size() != 1) StrAppend(out_, "(");
    for (size_t i = 0; i < outputs.size(); ++i) {
      StrAppend(out_, i == 0 ? "" : ", ", TypeText(outputs[i].value));
    }
    if (outputs.size() != 1) StrAppend(out_, ")");
  }

  void PrintNode(NodeId node) {
    Indent(2);
    for (int i = 0; i < graph_.result_count(node); ++i) {
      const ValueId result = graph_.result(node, i);
      StrAppend(out_, i == 0 ? "%" : ", %", NameOf(result));
      if (options_.types) StrAppend(out_, ": ", TypeText(result));
    }
    if (graph_.result_count(node) > 0) StrAppend(out_, " = ");
    StrAppend(out_, graph_.op(node), "(");
    bool first = true;
    for (const ValueId operand : graph_.operands(node)) {
      StrAppend(out_, first ? "%" : ", %", NameOf(operand));
      first = false;
    }
    StrAppend(out_, ")");
    text::AppendAttributes(out_, graph_.attributes(node), graph_.symbols());
    PrintOrigin(node);
    const std::string note =
        options_.note ? options_.note(graph_, node) : std::string();
    StrAppend(out_, note.empty() ? "" : "  // ", note, "\n");
    // Bodies nest at most kMaxBodyDepth deep.
    for (const Graph& body : graph_.bodies(node)) {
      Indent(4);
      GraphPrinter(body, options_, indent_ + 4, out_).Print();
    }
  }

  void PrintReturn() {
    Indent(2);
    StrAppend(out_, "return");
    const char* separator = " ";
    for (const Graph::Output& output : graph_.outputs()) {
      StrAppend(out_, separator, "%", NameOf(output.value));
      if (NameText(output.name) != NameOf(output.value)) {
        StrAppend(out_, " as ", NameText(output.name));
      }
      separator = ", ";
    }
    StrAppend(out_, "\n");
  }

  const Graph& graph_;
  const PrintOptions& options_;
  const int indent_;
  std::string* out_;
  std::vector<std::string> names_;
};

void PrintSymbols(const Graph& graph, std::string* out) {
  bool first = true;
  for (const Symbol& symbol : graph.symbols()) {
    StrAppend(out, first ? "symbols " : ", ", symbol.name);
    first = false;
    if (symbol.at_run_time) StrAppend(out, " at_run_time");
    if (symbol.upper != INT64_MAX) {
      StrAppend(out, " in [", symbol.lower, ", ", symbol.upper, "]");
    } else if (symbol.lower != 0) {
      StrAppend(out, " in [", symbol.lower, ", inf]");
    }
  }
  if (!first) StrAppend(out, "\n");
}

}  // namespace

std::string Print(const Graph& graph, const PrintOptions& options) {
  std::string out;
  PrintSymbols(graph, &out);
  GraphPrinter(graph, options, 0, &out).Print();
  return out;
}

}  // namespace encore
