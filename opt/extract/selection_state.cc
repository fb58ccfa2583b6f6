#include "encore/opt/extract/selection_state.h"

#include <algorithm>
#include <cmath>

#include "encore/opt/extract/greedy.h"

namespace encore::opt::extract {
namespace {

// Relative to the cost: what is less is rounding.
constexpr double kLeastGain = 1e-12;

}  // namespace

SelectionState::SelectionState(const Problem& problem,
                               const ProblemIndex& index)
    : problem_(problem),
      component_(StrongComponents(problem)),
      defaults_(BottomUpTree(problem, index).choice),
      seen_(problem.num_classes(), 0) {}

void SelectionState::Load(const Selection& selection) {
  choice_ = defaults_;
  uses_.assign(problem_.num_classes(), 0);
  cost_ = 0;
  // Choices come before the counts: what is needed is found through them.
  std::vector<ClassIndex> stack(problem_.roots);
  for (ClassIndex c = 0; c < selection.size(); ++c) {
    if (selection[c] != kNoNode) choice_[c] = selection[c];
  }
  for (const ClassIndex root : problem_.roots) Acquire(root);
  for (ClassIndex c = 0; c < choice_.size(); ++c) {
    if (uses_[c] == 0) choice_[c] = defaults_[c];
  }
  journal_.clear();
}

bool SelectionState::Switch(ClassIndex c, NodeIndex n) {
  const NodeIndex old = choice_[c];
  if (!std::isfinite(problem_.cost[n])) return false;
  for (const ClassIndex d : problem_.children(n)) {
    if (defaults_[d] == kNoNode) return false;
  }
  const size_t mark = journal_.size();
  Exchange(c, n);
  journal_.push_back({c, old, true});
  if (!ReachesItself(c)) return true;
  UndoTo(mark);
  return false;
}

void SelectionState::UndoTo(size_t mark) {
  while (journal_.size() > mark) {
    const Change change = journal_.back();
    journal_.pop_back();
    if (!change.switched) {
      choice_[change.c] = change.old;
      continue;
    }
    // The choices of what becomes needed again come back first.
    while (journal_.size() > mark && !journal_.back().switched) {
      choice_[journal_.back().c] = journal_.back().old;
      journal_.pop_back();
    }
    const size_t before = journal_.size();
    Exchange(change.c, change.old);
    journal_.resize(before);
  }
}

double SelectionState::CostLeftSince(size_t mark) const {
  double cost = 0;
  for (size_t i = mark; i < journal_.size(); ++i) {
    cost += problem_.cost[journal_[i].old];
  }
  return cost;
}

void SelectionState::Exchange(ClassIndex c, NodeIndex n) {
  const NodeIndex old = std::exchange(choice_[c], n);
  cost_ += problem_.cost[n];
  for (const ClassIndex d : problem_.children(n)) Acquire(d);
  cost_ -= problem_.cost[old];
  for (const ClassIndex d : problem_.children(old)) Release(d);
}

void SelectionState::Acquire(ClassIndex first) {
  stack_.assign(1, first);
  while (!stack_.empty()) {
    const ClassIndex c = stack_.back();
    stack_.pop_back();
    ++work_;
    if (uses_[c]++ > 0) continue;
    cost_ += problem_.cost[choice_[c]];
    const auto children = problem_.children(choice_[c]);
    stack_.insert(stack_.end(), children.begin(), children.end());
  }
}

void SelectionState::Release(ClassIndex first) {
  stack_.assign(1, first);
  while (!stack_.empty()) {
    const ClassIndex c = stack_.back();
    stack_.pop_back();
    ++work_;
    if (--uses_[c] > 0) continue;
    const NodeIndex n = choice_[c];
    cost_ -= problem_.cost[n];
    journal_.push_back({c, n, false});
    choice_[c] = defaults_[c];
    const auto children = problem_.children(n);
    stack_.insert(stack_.end(), children.begin(), children.end());
  }
}

bool SelectionState::ReachesItself(ClassIndex c) {
  ++stamp_;
  stack_.assign(1, c);
  while (!stack_.empty()) {
    const ClassIndex at = stack_.back();
    stack_.pop_back();
    for (const ClassIndex d : problem_.children(choice_[at])) {
      ++work_;
      if (d == c) return true;
      if (component_[d] != component_[c]) continue;
      if (std::exchange(seen_[d], stamp_) != stamp_) stack_.push_back(d);
    }
  }
  return false;
}

bool SelectionState::ImproveClass(ClassIndex c) {
  bool improved = false;
  for (NodeIndex n = problem_.class_start[c]; n < problem_.class_start[c + 1];
       ++n) {
    if (n == choice_[c]) continue;
    const double before = cost_;
    const size_t mark = Mark();
    if (!Switch(c, n)) continue;
    if (IsGain(before, cost_)) {
      improved = true;
      Commit();
    } else {
      UndoTo(mark);
    }
  }
  return improved;
}

bool IsGain(double before, double after) {
  return after < before - kLeastGain * std::max(1.0, std::abs(before));
}

}  // namespace encore::opt::extract
