#include "encore/opt/egraph/match/bound_slots.h"

namespace encore::egraph {

std::vector<bool> BoundSlots(const Rule& rule) {
  std::vector<bool> bound(rule.slots.size(), false);
  for (const Atom& atom : rule.atoms) {
    for (const Slot s : atom.args) bound[s.value()] = true;
    bound[atom.out.value()] = true;
  }
  for (const Guard& guard : rule.guards) {
    if (guard.out.valid()) bound[guard.out.value()] = true;
  }
  return bound;
}

}  // namespace encore::egraph
