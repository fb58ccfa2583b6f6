#include "encore/opt/egraph/match/bound_slots.h"

#include <vector>

#include "gtest/gtest.h"

namespace encore::egraph {
namespace {

TEST(BoundSlotsTest, AtomsAndResultsOfGuardsBind) {
  Rule rule;
  rule.slots.resize(6);
  Atom atom;
  atom.args = {Slot(0), Slot(2)};
  atom.out = Slot(3);
  rule.atoms.push_back(atom);
  Guard computes, tests;
  computes.args = {Slot(2)};
  computes.out = Slot(4);
  tests.args = {Slot(5)};  // read, not bound
  rule.guards = {computes, tests};
  EXPECT_EQ(BoundSlots(rule),
            (std::vector<bool>{true, false, true, true, true, false}));
  EXPECT_TRUE(BoundSlots(Rule()).empty());
}

}  // namespace
}  // namespace encore::egraph
