#include "encore/opt/extract/lns.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "encore/opt/extract/checker.h"
#include "encore/opt/extract/exact.h"
#include "encore/opt/extract/greedy.h"
#include "encore/opt/extract/reduce.h"
#include "encore/opt/extract/reduced.h"

namespace encore::opt::extract {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint64_t kClosureWords = 20'000'000;
// Nodes that are to be left of a neighbourhood, and nodes of its free classes,
// at the start; the least of both.
constexpr double kFirstSize = 500;
constexpr double kFirstBall = 1000;
constexpr double kLeastSize = 20;
// Balls tried around one centre.
constexpr int kMaxTries = 6;
// What setting up a program counts as, in evaluations.
constexpr uint64_t kWorkPerProgram = 1'000;
constexpr double kSecondsPerNeighbourhood = 0.4;

class NeighbourhoodSearch {
 public:
  NeighbourhoodSearch(const Problem& problem, const ProblemIndex& index,
                      uint64_t seed, Budget* budget, Solved* solved)
      : problem_(problem),
        index_(index),
        budget_(*budget),
        solved_(*solved),
        current_(solved->selection),
        current_cost_(solved->cost),
        random_(seed) {}

  void Run(const ReportFunction& report) {
    FillDefaults();
    while (!budget_.Exhausted()) {
      bool whole = false;
      const Reduced reduced = ChooseNeighbourhood(&whole);
      const Verdict verdict = Solve(reduced);
      report(solved_.cost, solved_.bound);
      if (whole && verdict == Verdict::kSolved) {
        solved_.optimal = true;
        solved_.bound = solved_.cost;
        return;
      }
      size_ = std::max(kLeastSize, size_ * GrowthAfter(verdict));
    }
  }

 private:
  enum class Verdict { kSolved, kLimit };

  // Neighbourhoods grow until they take a good part of what each is given.
  double GrowthAfter(Verdict verdict) const {
    if (verdict == Verdict::kLimit) return 0.7;
    if (share_used_ < 0.02) return 1.5;
    return share_used_ < 0.1 ? 1.2 : share_used_ < 0.4 ? 1.05 : 0.95;
  }

  // Frees a ball of classes of which reductions leave about size_ nodes, which
  // is what solving it depends on: by the ball alone it may be none or nearly
  // all. `*whole`: everything is free.
  Reduced ChooseNeighbourhood(bool* whole) {
    const ClassIndex centre = active_[Below(active_.size())];
    for (int tries = 1;; ++tries) {
      *whole = ChooseFree(centre, ball_);
      Reduced reduced = Reduce(problem_, keep_, kClosureWords);
      budget_.Spend(problem_.num_nodes());
      const double left = reduced.problem.num_nodes();
      const bool large = left > 1.5 * size_, small = left < size_ / 3;
      if (large) {
        ball_ = std::max(kLeastSize, ball_ * std::max(0.4, size_ / left));
      } else if (small) {
        ball_ = std::min(ball_ * 1.5, 2.0 * problem_.num_nodes());
      }
      if (!large && (!small || *whole)) return reduced;
      if (tries == kMaxTries || budget_.Exhausted()) return reduced;
    }
  }

  uint32_t Below(size_t bound) {
    return static_cast<uint32_t>(random_() % bound);
  }

  // For classes that are not chosen: the node that would make them cheapest,
  // given that everything chosen is paid for.
  void FillDefaults() {
    Problem priced = problem_;
    active_.clear();
    std::vector<uint8_t> seen(problem_.num_classes(), false);
    std::vector<ClassIndex> stack(problem_.roots);
    for (const ClassIndex c : stack) seen[c] = true;
    while (!stack.empty()) {
      const ClassIndex c = stack.back();
      stack.pop_back();
      active_.push_back(c);
      for (NodeIndex n = problem_.class_start[c];
           n < problem_.class_start[c + 1]; ++n) {
        priced.cost[n] = n == current_[c] ? 0 : kInfinity;
      }
      for (const ClassIndex d : problem_.children(current_[c])) {
        if (!std::exchange(seen[d], true)) stack.push_back(d);
      }
    }
    defaults_ = BottomUpTree(priced, index_).choice;
    budget_.Spend(problem_.num_nodes());
  }

  // Marks the nodes of a ball of classes around `centre`, about `size` of them,
  // beside the held nodes. True where that is everything.
  bool ChooseFree(ClassIndex centre, double size) {
    keep_.assign(problem_.num_nodes(), false);
    for (const NodeIndex n : defaults_) {
      if (n != kNoNode) keep_[n] = true;
    }
    std::vector<uint8_t> seen(problem_.num_classes(), false);
    // Taken at random places, so that balls of one centre differ.
    std::vector<ClassIndex> border = {centre};
    seen[border[0]] = true;
    double free = 0;
    size_t taken = 0;
    const auto reach = [&](ClassIndex c) {
      if (!std::exchange(seen[c], true)) border.push_back(c);
    };
    while (free < size && !border.empty()) {
      // Mostly among the older half: the ball stays round.
      const size_t place = Below((border.size() + 1) / 2);
      const ClassIndex c = border[place];
      border.erase(border.begin() + place);
      ++taken;
      if (problem_.class_size(c) > 1) free += problem_.class_size(c);
      for (NodeIndex n = problem_.class_start[c];
           n < problem_.class_start[c + 1]; ++n) {
        keep_[n] = true;
        for (const ClassIndex d : problem_.children(n)) reach(d);
      }
      for (const NodeIndex user : index_.users(c)) {
        reach(index_.class_of(user));
      }
    }
    return taken == problem_.num_classes();
  }

  Verdict Solve(const Reduced& reduced) {
    if (!reduced.feasible) return Verdict::kSolved;
    Selection assembled =
        reduced.Restore(Selection(reduced.problem.num_classes(), kNoNode));
    Verdict verdict = Verdict::kSolved;
    Budget slice = budget_.Slice(0.5, kSecondsPerNeighbourhood);
    for (const Reduced& part : Split(reduced)) {
      if (!SolvePart(part, &slice, &assembled)) verdict = Verdict::kLimit;
    }
    share_used_ = slice.ShareUsed();
    budget_.Spend(slice.spent());
    Take(assembled);
    return verdict;
  }

  // Writes the choices of a part into `assembled`. Whether it was solved.
  bool SolvePart(const Reduced& part, Budget* slice, Selection* assembled) {
    const ProblemIndex part_index(part.problem);
    const Selection start =
        Adopt(part.problem, part_index, part.Project(current_));
    const ExactOutcome outcome =
        SolveExactly(part.problem, start, slice->Limits(random_()));
    slice->Spend(outcome.iterations * Budget::kWorkPerIteration +
                 kWorkPerProgram + part.problem.num_nodes());
    const Selection& best =
        outcome.selection.empty() ? start : outcome.selection;
    if (best.empty()) return false;
    for (ClassIndex c = 0; c < best.size(); ++c) {
      if (best[c] != kNoNode) {
        (*assembled)[part.class_of[c]] = part.node_of[best[c]];
      }
    }
    return outcome.optimal;
  }

  // Equal costs are taken too: the search drifts along plateaus.
  void Take(const Selection& candidate) {
    const StatusOr<double> cost = CheckedCost(problem_, candidate);
    if (!cost.ok() || *cost > current_cost_) return;
    if (std::all_of(active_.begin(), active_.end(), [&](ClassIndex c) {
          return candidate[c] == current_[c];
        })) {
      return;
    }
    current_ = candidate;
    current_cost_ = *cost;
    solved_.Improve(problem_, candidate);
    FillDefaults();
  }

  const Problem& problem_;
  const ProblemIndex& index_;
  Budget& budget_;
  Solved& solved_;
  Selection current_;
  double current_cost_;
  std::mt19937_64 random_;
  double size_ = kFirstSize;        // nodes that reductions should leave
  double ball_ = kFirstBall;        // nodes to free for that
  double share_used_ = 0;           // of the last neighbourhood's budget
  std::vector<ClassIndex> active_;  // classes chosen at present
  Selection defaults_;              // per class, the chosen ones' choices too
  std::vector<uint8_t> keep_;
};

}  // namespace

void SearchNeighbourhoods(const Problem& problem, const ProblemIndex& index,
                          uint64_t seed, Budget* budget, Solved* solved,
                          const ReportFunction& report) {
  NeighbourhoodSearch(problem, index, seed, budget, solved).Run(report);
}

}  // namespace encore::opt::extract
