// Which slots of a rule its matches give values to.
#ifndef ENCORE_OPT_EGRAPH_MATCH_BOUND_SLOTS_H_
#define ENCORE_OPT_EGRAPH_MATCH_BOUND_SLOTS_H_

#include <vector>

#include "encore/opt/egraph/match/rule.h"

namespace encore::egraph {

// By slot: whether an atom names it or a guard computes it. Of constants, whose
// value the rule has, both may be so.
std::vector<bool> BoundSlots(const Rule& rule);

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_MATCH_BOUND_SLOTS_H_
