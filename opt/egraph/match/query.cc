#include "encore/opt/egraph/match/query.h"

#include <utility>
#include <vector>

#include "encore/ir/support/check.h"
#include "encore/opt/egraph/match/bound_slots.h"
#include "encore/opt/egraph/match/matcher.h"
#include "encore/opt/egraph/match/trie.h"

namespace encore::egraph {

bool ForEachMatch(EGraph* graph, const Rule& rule,
                  const std::function<bool(std::span<const Value>)>& each,
                  std::function<bool()> stop) {
  ENCORE_CHECK(graph->rebuilt()) << "a query before Rebuild";
  std::vector<Slot> wanted;
  const std::vector<bool> bound = BoundSlots(rule);
  for (uint32_t s = 0; s < bound.size(); ++s) {
    if (bound[s] || rule.slots[s].constant.has_value()) {
      wanted.push_back(Slot(s));
    }
  }
  Trie trie;
  trie.Add(*graph, rule, 0, 0, wanted, false);
  std::vector<Value> slots(rule.slots.size(), kNoValue);
  const auto yield = [&](std::span<const Value> values) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      slots[wanted[i].value()] = values[i];
    }
    return each(slots);
  };
  return Matcher(graph, &trie, yield, std::move(stop)).Run();
}

std::optional<bool> AnyMatch(EGraph* graph, const Rule& rule,
                             std::function<bool()> stop) {
  bool found = false;
  const auto each = [&](std::span<const Value>) {
    found = true;
    return false;
  };
  if (ForEachMatch(graph, rule, each, std::move(stop))) return false;
  if (found) return true;
  return std::nullopt;
}

}  // namespace encore::egraph
