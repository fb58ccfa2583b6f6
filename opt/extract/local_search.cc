#include "encore/opt/extract/local_search.h"

#include <cstddef>
#include <random>

#include "encore/opt/extract/selection_state.h"

namespace encore::opt::extract {
namespace {

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

  void Descend() {
    for (bool improved = true; improved && !Stop();) {
      improved = false;
      for (ClassIndex c = 0; c < problem_.num_classes() && !Stop(); ++c) {
        if (state_.needed(c)) improved |= state_.ImproveClass(c);
      }
      for (ClassIndex d = 0; d < problem_.num_classes() && !Stop(); ++d) {
        if (index_.users(d).size() > 1) improved |= MoveGroup(d);
      }
    }
    solved_.Improve(problem_, state_.choices());
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
    if (moved > 1 && IsGain(before, state_.cost())) {
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
  SelectionState state_;
  std::mt19937_64 random_;
};

}  // namespace

void SearchLocally(const Problem& problem, const ProblemIndex& index,
                   uint64_t seed, bool kicks, Budget* budget, Solved* solved) {
  LocalSearch(problem, index, seed, budget, solved).Run(kicks);
}

}  // namespace encore::opt::extract
