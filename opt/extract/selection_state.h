// SelectionState: a solution that can be changed, with exact reference counts.
#ifndef ENCORE_OPT_EXTRACT_SELECTION_STATE_H_
#define ENCORE_OPT_EXTRACT_SELECTION_STATE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "encore/opt/extract/problem.h"

namespace encore::opt::extract {

// A selection with reference counts: what a change of a choice costs is what
// becomes needed less what is needed no more.
//
// Classes that are not needed hold their default choice, that of the cheapest
// tree; defaults form no cycle, and what is needed does not reach what is not.
// So a new cycle must contain the class whose choice was changed.
//
// The problem outlives this and has no groups (ExpandGroups).
class SelectionState {
 public:
  SelectionState(const Problem& problem, const ProblemIndex& index);

  // REQUIRES: `selection` is a solution. Linear in the classes.
  void Load(const Selection& selection);

  double cost() const { return cost_; }
  bool needed(ClassIndex c) const { return uses_[c] > 0; }
  NodeIndex choice(ClassIndex c) const { return choice_[c]; }
  const Selection& choices() const { return choice_; }
  // Evaluations since it was called last (Budget::Spend).
  uint64_t TakeWork() { return std::exchange(work_, 0); }

  // Gives needed class c node n. False, with nothing changed, for a cycle, a
  // forbidden node, and a node with a child that has no derivation.
  bool Switch(ClassIndex c, NodeIndex n);

  // Where UndoTo comes back to; until Commit, which ends a move.
  size_t Mark() const { return journal_.size(); }
  void UndoTo(size_t mark);
  void Commit() { journal_.clear(); }
  // Cost of the nodes that were chosen then and are not now.
  double CostLeftSince(size_t mark) const;

  // Gives needed class c each other node that makes the whole cheaper, one
  // after the other; whether any did. Ends the move.
  bool ImproveClass(ClassIndex c);

 private:
  // `switched`: the choice of a needed class changed. Otherwise the class was
  // needed no more.
  struct Change {
    ClassIndex c;
    NodeIndex old;
    bool switched;
  };

  void Exchange(ClassIndex c, NodeIndex n);
  void Acquire(ClassIndex first);
  void Release(ClassIndex first);
  bool ReachesItself(ClassIndex c);

  const Problem& problem_;
  const std::vector<uint32_t> component_;
  const Selection defaults_;
  Selection choice_;
  std::vector<uint32_t> uses_;
  double cost_ = 0;
  uint64_t work_ = 0;
  std::vector<Change> journal_;
  std::vector<ClassIndex> stack_;
  std::vector<uint64_t> seen_;
  uint64_t stamp_ = 0;
};

// Whether a change from cost `before` to `after` is a gain, beyond rounding.
bool IsGain(double before, double after);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_SELECTION_STATE_H_
