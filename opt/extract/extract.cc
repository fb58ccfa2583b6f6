#include "encore/opt/extract/extract.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "encore/ir/support/status_macros.h"
#include "encore/opt/extract/checker.h"
#include "encore/opt/extract/greedy.h"
#include "encore/opt/extract/mip.h"
#include "encore/opt/extract/search.h"
#include "encore/opt/extract/solver.h"

namespace encore::opt::extract {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A larger problem is reduced before the greedy method runs: long chains make
// its sets quadratic.
constexpr uint32_t kGreedyClasses = 50'000;
// Seconds after the deadline at which only the tree and greedy solutions are
// given: a slow machine or a large problem.
constexpr double kLate = 0.4;
constexpr uint64_t kGreedyWork = 10'000'000;

Budget BudgetOf(const Options& options) {
  if (options.work) return Budget(*options.work, options.interrupt);
  const auto length =
      std::chrono::duration<double>(std::min(options.seconds, 1e8));
  return Budget(
      options.begin +
          std::chrono::duration_cast<std::chrono::steady_clock::duration>(
              length),
      options.interrupt);
}

double Offer(const Problem& problem, const Selection& selection,
             Solved* solved) {
  solved->Improve(problem, selection);
  const StatusOr<double> cost = CheckedCost(problem, selection);
  return cost.ok() ? *cost : kInfinity;
}

// `selection` without the choices of classes that the roots do not reach.
Selection ReachableChoices(const Problem& problem, const Selection& selection) {
  Selection out(problem.num_classes(), kNoNode);
  std::vector<ClassIndex> stack(problem.roots);
  while (!stack.empty()) {
    const ClassIndex c = stack.back();
    stack.pop_back();
    if (std::exchange(out[c], selection[c]) != kNoNode) continue;
    const auto children = problem.children(selection[c]);
    stack.insert(stack.end(), children.begin(), children.end());
  }
  return out;
}

// Passes progress on, about five times a second.
class ProgressReport {
 public:
  explicit ProgressReport(const Options& options) : options_(options) {}

  void Tell(double cost, double bound) {
    if (!options_.progress) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(200);
    Progress progress;
    progress.seconds =
        std::chrono::duration<double>(now - options_.begin).count();
    progress.cost = cost;
    if (std::isfinite(bound)) progress.lower_bound = bound;
    options_.progress(progress);
  }

 private:
  const Options& options_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace

bool SolverStillRunning() { return MipStillRunning(); }

StatusOr<Result> Extract(const Problem& problem, const Options& options) {
  ENCORE_RETURN_IF_ERROR(Validate(problem));
  const Problem expanded = ExpandGroups(problem);
  const ProblemIndex index(expanded);
  Result result;
  if (problem.roots.empty()) {
    result.feasible = result.optimal = true;
    result.lower_bound = 0;
    result.choice.assign(problem.num_classes(), kNoNode);
    return result;
  }
  Budget budget = BudgetOf(options);
  budget.set_greedy_first(options.greedy_first);
  Solved solved;
  const TreeCosts tree = BottomUpTree(expanded, index);
  Statistics& statistics = result.statistics;
  statistics.tree_cost = Offer(expanded, tree.choice, &solved);
  if (solved.selection.empty()) return result;
  if (options.start.size() == problem.num_classes()) {
    Offer(expanded, WithOperations(problem, expanded, options.start), &solved);
  }
  uint64_t work = 0;
  statistics.greedy_cost = kInfinity;
  if (expanded.num_classes() <= kGreedyClasses) {
    statistics.greedy_cost = Offer(
        expanded, GreedyDag(expanded, index, budget.WorkOf(kGreedyWork), &work),
        &solved);
  }
  budget.Spend(work);
  ProgressReport progress(options);
  SolverReport report;
  if (!budget.LateBy(kLate)) {
    report =
        Solve(expanded, options.seed, &budget, &solved,
              [&](double cost, double bound) { progress.Tell(cost, bound); });
  }
  statistics.work = budget.spent();
  statistics.reduced_nodes = report.reduced_nodes;
  statistics.components = report.parts;
  statistics.proven_components = report.proven_parts;
  result.feasible = true;
  result.cost = solved.cost;
  result.choice = ReachableChoices(expanded, solved.selection);
  result.choice.resize(problem.num_classes());
  if (std::isfinite(solved.bound)) result.lower_bound = solved.bound;
  result.optimal = solved.optimal;
  return result;
}

}  // namespace encore::opt::extract
