#include "encore/opt/egraph/match/ac_operands.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "encore/ir/support/check.h"

namespace encore::egraph {
namespace {

using Pair = std::array<ClassId, 2>;

std::optional<Pair> TakeApart(const EGraph& graph, OpId op, ClassId cls,
                              const absl::flat_hash_set<ClassId>& open) {
  std::optional<NodeId> oldest;
  Pair parts;
  for (const NodeId n : graph.Members(cls)) {
    if (graph.op(n) != op || (oldest.has_value() && *oldest < n)) continue;
    const std::span<const Value> args = graph.args(n);
    const Pair found = {graph.Find(ClassId(args[0])),
                        graph.Find(ClassId(args[1]))};
    if (open.contains(found[0]) || open.contains(found[1])) continue;
    oldest = n;
    parts = found;
  }
  if (!oldest.has_value()) return std::nullopt;
  return parts;
}

}  // namespace

std::vector<ClassId> GatherOperands(const EGraph& graph, OpId op, ClassId root,
                                    size_t limit) {
  const OpInfo& info = graph.language().op(op);
  ENCORE_CHECK(info.args.size() == 2 && info.args[0] == info.result &&
               info.args[1] == info.result)
      << info.name << " has no operands to gather";
  struct Item {
    ClassId cls;
    bool done;  // what it was taken apart into has been seen
  };
  std::vector<ClassId> operands;
  std::vector<Item> stack = {{graph.Find(root), false}};
  absl::flat_hash_set<ClassId> open;  // being taken apart
  size_t count = 1;                   // of operands, there or to come
  while (!stack.empty()) {
    const Item item = stack.back();
    stack.pop_back();
    if (item.done) {
      open.erase(item.cls);
      continue;
    }
    open.insert(item.cls);
    std::optional<Pair> parts;
    if (count < limit) parts = TakeApart(graph, op, item.cls, open);
    if (!parts.has_value()) {
      open.erase(item.cls);
      operands.push_back(item.cls);
      continue;
    }
    ++count;
    stack.push_back({item.cls, true});
    stack.push_back({(*parts)[1], false});
    stack.push_back({(*parts)[0], false});
  }
  std::sort(operands.begin(), operands.end());
  return operands;
}

ClassId AddChain(EGraph* graph, OpId op, std::span<const ClassId> operands) {
  ENCORE_CHECK(!operands.empty()) << "a chain of nothing";
  ClassId chain = operands.back();
  for (size_t i = operands.size() - 1; i-- > 0;) {
    chain = graph->Add(op, {operands[i].value(), chain.value()});
  }
  return chain;
}

ApplyFn SortedChain(OpId op, size_t limit) {
  return [op, limit](EGraph* graph,
                     std::span<const Value> args) -> std::optional<Value> {
    const std::vector<ClassId> operands =
        GatherOperands(*graph, op, ClassId(args[0]), limit);
    if (operands.size() < 2) return std::nullopt;
    return AddChain(graph, op, operands).value();
  };
}

}  // namespace encore::egraph
