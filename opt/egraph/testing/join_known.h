// The Join of analyses whose fact is the value of a class, where it is known.
#ifndef ENCORE_OPT_EGRAPH_TESTING_JOIN_KNOWN_H_
#define ENCORE_OPT_EGRAPH_TESTING_JOIN_KNOWN_H_

#include <optional>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/egraph.h"

namespace encore::egraph {

// FactAnalysis::Join; two different values are an error of the rules.
template <typename T>
bool JoinKnown(EGraph* graph, std::optional<T>* into,
               const std::optional<T>& from) {
  if (!from.has_value() || *into == from) return false;
  if (into->has_value()) {
    if (graph != nullptr) {
      graph->SetError(InternalError("two values became equal"));
    }
    return false;
  }
  *into = from;
  return true;
}

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_TESTING_JOIN_KNOWN_H_
