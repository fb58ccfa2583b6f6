#include "encore/opt/extract/solver.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "encore/opt/extract/exact.h"
#include "encore/opt/extract/greedy.h"
#include "encore/opt/extract/lns.h"
#include "encore/opt/extract/local_search.h"
#include "encore/opt/extract/narrow_dp.h"
#include "encore/opt/extract/path_bound.h"
#include "encore/opt/extract/reduce.h"
#include "encore/opt/extract/reduced.h"

namespace encore::opt::extract {
namespace {

// About half a second; a twentieth of it where there is no time at all.
constexpr uint64_t kClosureWords = 1'000'000'000;
constexpr uint64_t kQuickClosureWords = 50'000'000;
constexpr uint64_t kGreedyWork = 10'000'000;
// Evaluations of the first local search, made however short the time is.
constexpr uint64_t kFirstLocalWork = 500'000;
// Where work is limited, a large part has more of them: so many a node, at most
// about a second. Its first descent needs that, and neighbourhoods come later.
constexpr uint64_t kLocalWorkPerNode = 600, kMostLocalWork = 50'000'000;
// Seconds after the deadline at which quick methods are left out too.
constexpr double kLate = 0.4;
// A small part may take that share of the time, whatever its size.
constexpr double kLeastShare = 0.2;
constexpr double kNoLimit = 1e9;
// Where dynamic programming is tried: classes joined, table entries in all.
constexpr uint32_t kWidth = 14;
constexpr uint64_t kNarrowWork = 5'000'000;
constexpr uint32_t kLargePart = 5'000;

// A part of the reduced problem with its own solution and bound.
class PartSolver {
 public:
  PartSolver(const Reduced& part, const Selection& known, uint64_t seed)
      : problem_(part.problem), index_(problem_), seed_(seed) {
    solved_.Improve(problem_, Adopt(problem_, index_, part.Project(known)));
  }

  const Solved& solved() const { return solved_; }

  void Start(Budget* budget) {
    solved_.bound = LeastBound();
    // On a machine so slow that the time is over, the known solution must do.
    if (budget->LateBy(kLate) && !solved_.selection.empty()) return;
    solved_.Improve(problem_, BottomUpTree(problem_, index_).choice);
    uint64_t work = 0;
    solved_.Improve(problem_, GreedyDag(problem_, index_,
                                        budget->WorkOf(kGreedyWork), &work));
    if (!solved_.selection.empty()) {
      Budget local(FirstLocalWork(*budget), nullptr);
      SearchLocally(problem_, index_, seed_, false, &local, &solved_);
      work += local.spent();
    }
    budget->Spend(work);
  }

  void Run(Budget* budget, const ReportFunction& report) {
    Narrow(budget);
    if (solved_.optimal) return;
    if (!MipAvailable()) {
      if (!solved_.selection.empty()) {
        SearchLocally(problem_, index_, seed_, true, budget, &solved_);
      }
      return;
    }
    // A large part's first relaxation alone may take all the time.
    const bool large = problem_.num_nodes() > kLargePart;
    if (!large) Exact(budget, 0.05, Branching::kNodesAndClasses);
    // Where a proof is far away the time is better spent on the solution.
    const double gap = solved_.cost - solved_.bound;
    const bool far = gap > 0.15 * std::abs(solved_.cost);
    Neighbourhoods(budget, far ? 0.6 : 0.25, report);
    Exact(budget, 0.65, Branching::kNodesAndClasses);
    Exact(budget, 1, Branching::kClasses);
    Neighbourhoods(budget, 1, report);
  }

 private:
  // The sum of what each class adds to any solution at least, or of what lies
  // on a path.
  double LeastBound() const {
    std::vector<uint8_t> is_root(problem_.num_classes(), false);
    for (const ClassIndex root : problem_.roots) is_root[root] = true;
    double bound = 0;
    for (ClassIndex c = 0; c < problem_.num_classes(); ++c) {
      const auto begin = problem_.cost.begin() + problem_.class_start[c];
      const auto end = problem_.cost.begin() + problem_.class_start[c + 1];
      const double least = *std::min_element(begin, end);
      bound += is_root[c] ? least : std::min(0.0, least);
    }
    return std::max(bound, PathBound(problem_, index_));
  }

  uint64_t FirstLocalWork(const Budget& budget) const {
    if (!budget.reproducible() || budget.greedy_first()) return kFirstLocalWork;
    return std::clamp(kLocalWorkPerNode * problem_.num_nodes(), kFirstLocalWork,
                      kMostLocalWork);
  }

  void Narrow(Budget* budget) {
    if (budget->Exhausted()) return;
    uint64_t work = 0;
    const Selection found = SolveNarrow(problem_, kWidth, kNarrowWork, &work);
    budget->Spend(work);
    if (found.empty()) return;
    solved_.Improve(problem_, found);
    solved_.optimal = true;
    solved_.bound = solved_.cost;
  }

  void Exact(Budget* budget, double share, Branching branching) {
    if (solved_.optimal || budget->Exhausted()) return;
    Budget slice = budget->Slice(share, kNoLimit);
    const ExactOutcome outcome = SolveExactly(problem_, solved_.selection,
                                              slice.Limits(seed_++), branching);
    budget->Spend(outcome.iterations * Budget::kWorkPerIteration +
                  problem_.num_nodes());
    solved_.Improve(problem_, outcome.selection);
    solved_.bound = std::max(solved_.bound, outcome.bound);
    solved_.optimal = outcome.optimal || solved_.cost <= solved_.bound;
    if (solved_.optimal) solved_.bound = solved_.cost;
  }

  void Neighbourhoods(Budget* budget, double share,
                      const ReportFunction& report) {
    if (solved_.optimal || budget->Exhausted() || solved_.selection.empty()) {
      return;
    }
    Budget slice = budget->Slice(share, kNoLimit);
    SearchNeighbourhoods(problem_, index_, seed_++, &slice, &solved_, report);
    budget->Spend(slice.spent());
    if (solved_.cost <= solved_.bound) {
      solved_.optimal = true;
      solved_.bound = solved_.cost;
    }
  }

  const Problem& problem_;
  const ProblemIndex index_;
  uint64_t seed_;
  Solved solved_;
};

}  // namespace

SolverReport Solve(const Problem& problem, uint64_t seed, Budget* budget,
                   Solved* solved, const ReportFunction& report) {
  const Reduced reduced = Reduce(
      problem, {}, budget->Exhausted() ? kQuickClosureWords : kClosureWords);
  budget->Spend(problem.num_nodes());
  SolverReport counts;
  counts.reduced_nodes = reduced.problem.num_nodes();
  std::vector<Reduced> parts = Split(reduced);
  counts.parts = parts.size();
  std::sort(parts.begin(), parts.end(), [](const Reduced& a, const Reduced& b) {
    const auto key = [](const Reduced& part) {
      return std::pair(part.problem.num_nodes(), part.class_of[0]);
    };
    return key(a) < key(b);
  });
  Selection assembled =
      reduced.Restore(Selection(reduced.problem.num_classes(), kNoNode));
  std::vector<PartSolver> solvers;
  solvers.reserve(parts.size());
  for (const Reduced& part : parts) {
    solvers.emplace_back(part, solved->selection, seed).Start(budget);
  }
  const auto assemble = [&] {
    double bound = reduced.base;
    bool optimal = true;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Solved& part = solvers[i].solved();
      for (ClassIndex c = 0; c < part.selection.size(); ++c) {
        if (part.selection[c] == kNoNode) continue;
        assembled[parts[i].class_of[c]] = parts[i].node_of[part.selection[c]];
      }
      bound += part.bound;
      optimal &= part.optimal;
    }
    solved->Improve(problem, assembled);
    solved->optimal = optimal || solved->cost <= bound;
    solved->bound = solved->optimal ? solved->cost : bound;
    report(solved->cost, solved->bound);
  };
  assemble();
  size_t left = reduced.problem.num_nodes();
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t size = parts[i].problem.num_nodes();
    Budget slice = budget->Slice(
        std::max(kLeastShare, static_cast<double>(size) / left), kNoLimit);
    left -= size;
    const double rest = solved->cost - solvers[i].solved().cost;
    const double rest_bound = solved->bound - solvers[i].solved().bound;
    solvers[i].Run(&slice, [&](double cost, double bound) {
      report(rest + cost, rest_bound + bound);
    });
    budget->Spend(slice.spent());
    counts.proven_parts += solvers[i].solved().optimal;
    assemble();
  }
  return counts;
}

}  // namespace encore::opt::extract
