// A reduced problem, and the way back to the original.
#ifndef ENCORE_OPT_EXTRACT_REDUCED_H_
#define ENCORE_OPT_EXTRACT_REDUCED_H_

#include <vector>

#include "encore/opt/extract/problem.h"

namespace encore::opt::extract {

struct Reduced {
  bool feasible = true;
  // What is left. Children are sorted and unique, costs finite, roots unique.
  Problem problem;
  double base = 0;                   // cost of what is decided
  std::vector<NodeIndex> node_of;    // node of `problem` -> original node
  std::vector<ClassIndex> class_of;  // class of `problem` -> original class
  Selection decided;  // per original class: its only node, or kNoNode

  // The original solution that a solution of `problem` stands for, unreachable
  // classes included. Its cost is at most base + that solution's.
  Selection Restore(const Selection& selection) const;

  // The choices of an original selection that are still there; kNoNode
  // elsewhere.
  Selection Project(const Selection& original) const;
};

// The parts of a reduced problem that share no class: each has `base` 0, its
// own roots and no decisions, and maps to the original problem.
std::vector<Reduced> Split(const Reduced& reduced);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_REDUCED_H_
