#include "encore/opt/egraph/match/term_text.h"

#include <span>
#include <vector>

#include "encore/ir/support/strings.h"

namespace encore::egraph {

std::string DefaultLiteralText(const EGraph& graph, SortId sort, Value value) {
  return sort == kUnitSort ? "()" : graph.language().literals().ToText(value);
}

StatusOr<std::string> TermText(const EGraph& graph, ClassId c,
                               const ChosenNodeFn& chosen, size_t max_bytes,
                               const LiteralTextFn& literal,
                               const TermNameFn& name) {
  if (!chosen(c).has_value()) {
    return NotFoundError("the class has no term of finite cost");
  }
  struct Frame {
    NodeId node;
    size_t next;  // column to write next
  };
  std::string text;
  std::vector<Frame> stack;
  const auto open = [&](ClassId cls) {
    const NodeId node = *chosen(cls);
    StrAppend(&text, "(", graph.language().op(graph.op(node)).name);
    stack.push_back({node, 0});
  };
  open(c);
  while (!stack.empty() && text.size() <= max_bytes) {
    Frame& top = stack.back();
    const std::span<const Value> args = graph.args(top.node);
    if (top.next == args.size()) {
      text += ')';
      stack.pop_back();
      continue;
    }
    const SortId sort = graph.language().op(graph.op(top.node)).args[top.next];
    const Value value = args[top.next++];
    text += ' ';
    if (!graph.language().has_terms(sort)) {
      text += literal(graph, sort, value);
      continue;
    }
    const std::string_view instead =
        name == nullptr ? std::string_view() : name(ClassId(value));
    if (instead.empty()) {
      open(ClassId(value));
    } else {
      text += instead;
    }
  }
  if (text.size() > max_bytes) {
    return ResourceExhaustedError(
        StrCat("the least term is longer than ", max_bytes, " bytes"));
  }
  return text;
}

}  // namespace encore::egraph
