#include "encore/opt/extract/local_search.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "encore/opt/extract/greedy.h"

namespace encore::opt::extract {
namespace {

// Relative to the cost: what is less is rounding.
constexpr double kLeastGain = 1e-12;

// A selection with reference counts. Classes that are not needed hold their
// default choice, that of the cheapest tree; defaults form no cycle, and what
// is needed does not reach what is not. So a new cycle must contain the class
// whose choice was changed.
class State {
 public:
  State(const Problem& problem, const ProblemIndex& index)
      : problem_(problem),
        component_(StrongComponents(problem)),
        defaults_(BottomUpTree(problem, index).choice),
        seen_(problem.num_classes(), 0) {}

  void Load(const Selection& selection) {
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

  double cost() const { return cost_; }
  bool needed(ClassIndex c) const { return uses_[c] > 0; }
  NodeIndex choice(ClassIndex c) const { return choice_[c]; }
  const Selection& choices() const { return choice_; }
  uint64_t TakeWork() { return std::exchange(work_, 0); }

  // Ends a move: what came before can no longer be undone.
  void Commit() { journal_.clear(); }

  // Gives needed class c node n. False, with nothing changed, for a cycle.
  bool Switch(ClassIndex c, NodeIndex n) {
    const NodeIndex old = choice_[c];
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

  size_t Mark() const { return journal_.size(); }

  void UndoTo(size_t mark) {
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

 private:
  // `switched`: the choice of a needed class changed. Otherwise the class was
  // needed no more.
  struct Change {
    ClassIndex c;
    NodeIndex old;
    bool switched;
  };

  void Exchange(ClassIndex c, NodeIndex n) {
    const NodeIndex old = std::exchange(choice_[c], n);
    cost_ += problem_.cost[n];
    for (const ClassIndex d : problem_.children(n)) Acquire(d);
    cost_ -= problem_.cost[old];
    for (const ClassIndex d : problem_.children(old)) Release(d);
  }

  void Acquire(ClassIndex first) {
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

  void Release(ClassIndex first) {
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

  bool ReachesItself(ClassIndex c) {
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

class LocalSearch {
 public:
  LocalSearch(const Problem& problem, const ProblemIndex& index, uint64_t seed,
              Budget* budget, Solved* solved)
      : problem_(problem),
        index_(index),
        budget_(*budget),
        solved_(*solved),
        state_(problem, index),
        random_(seed) {}

  void Run(bool kicks) {
    state_.Load(solved_.selection);
    Descend();
    while (kicks && !budget_.Exhausted()) {
      Kick();
      Descend();
      if (state_.cost() > solved_.cost) state_.Load(solved_.selection);
    }
  }

 private:
  bool Stop() {
    budget_.Spend(state_.TakeWork());
    return budget_.Exhausted();
  }

  bool Gained(double before) const {
    return state_.cost() < before - kLeastGain * std::max(1.0, before);
  }

  void Descend() {
    for (bool improved = true; improved && !Stop();) {
      improved = false;
      for (ClassIndex c = 0; c < problem_.num_classes() && !Stop(); ++c) {
        if (state_.needed(c)) improved |= ImproveClass(c);
      }
      for (ClassIndex d = 0; d < problem_.num_classes() && !Stop(); ++d) {
        if (index_.users(d).size() > 1) improved |= MoveGroup(d);
      }
    }
    solved_.Improve(problem_, state_.choices());
  }

  bool ImproveClass(ClassIndex c) {
    bool improved = false;
    for (NodeIndex n = problem_.class_start[c]; n < problem_.class_start[c + 1];
         ++n) {
      if (n == state_.choice(c)) continue;
      const double before = state_.cost();
      const size_t mark = state_.Mark();
      if (!state_.Switch(c, n)) continue;
      if (Gained(before)) {
        improved = true;
        state_.Commit();
      } else {
        state_.UndoTo(mark);
      }
    }
    return improved;
  }

  bool MoveGroup(ClassIndex d) {
    const double before = state_.cost();
    const size_t mark = state_.Mark();
    int moved = 0;
    for (const NodeIndex n : index_.users(d)) {
      const ClassIndex c = index_.class_of(n);
      if (!state_.needed(c) || state_.choice(c) == n) continue;
      moved += state_.Switch(c, n);
    }
    if (moved > 1 && Gained(before)) {
      state_.Commit();
      return true;
    }
    state_.UndoTo(mark);
    return false;
  }

  void Kick() {
    const uint32_t classes = problem_.num_classes();
    for (int changes = 0, tries = 0; changes < 3 && tries < 100; ++tries) {
      const ClassIndex c = random_() % classes;
      if (!state_.needed(c) || problem_.class_size(c) < 2) continue;
      const NodeIndex n =
          problem_.class_start[c] + random_() % problem_.class_size(c);
      if (n != state_.choice(c)) changes += state_.Switch(c, n);
    }
    state_.Commit();
    budget_.Spend(1);
  }

  const Problem& problem_;
  const ProblemIndex& index_;
  Budget& budget_;
  Solved& solved_;
  State state_;
  std::mt19937_64 random_;
};

}  // namespace

void SearchLocally(const Problem& problem, const ProblemIndex& index,
                   uint64_t seed, bool kicks, Budget* budget, Solved* solved) {
  LocalSearch(problem, index, seed, budget, solved).Run(kicks);
}

}  // namespace encore::opt::extract
