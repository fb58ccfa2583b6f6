// Queries on a rebuilt graph: is there a match, which are they. Nothing is
// inserted.
#ifndef ENCORE_OPT_EGRAPH_MATCH_QUERY_H_
#define ENCORE_OPT_EGRAPH_MATCH_QUERY_H_

#include <functional>
#include <optional>
#include <span>

#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/match/rule.h"

namespace encore::egraph {

// Whether the query of `rule` (its actions are ignored) holds for some
// assignment; nothing where `stop`, asked every few thousand steps, said true
// before that was known. REQUIRES: graph->rebuilt(). The graph is not const
// because guards may intern literals.
std::optional<bool> AnyMatch(EGraph* graph, const Rule& rule,
                             std::function<bool()> stop = nullptr);

// Calls `each` with the values of all slots (kNoValue for slots of actions) for
// each assignment, until it returns false or `stop` says true; whether neither
// did.
bool ForEachMatch(EGraph* graph, const Rule& rule,
                  const std::function<bool(std::span<const Value>)>& each,
                  std::function<bool()> stop = nullptr);

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_MATCH_QUERY_H_
