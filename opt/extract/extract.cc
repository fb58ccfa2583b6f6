#include "encore/opt/extract/extract.h"

#include <cmath>
#include <limits>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/opt/extract/checker.h"
#include "encore/opt/extract/greedy.h"

namespace encore::opt::extract {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint64_t kGreedyWork = 200'000'000;

// The best solution so far of the problem with groups expanded.
class Incumbent {
 public:
  explicit Incumbent(const Problem& problem) : problem_(problem) {}

  // Takes `selection` if it is a solution and the cheapest; its cost, or
  // infinity.
  double Offer(const Selection& selection) {
    const StatusOr<double> cost = CheckedCost(problem_, selection);
    if (!cost.ok()) return kInfinity;
    if (selection_.empty() || *cost < cost_) {
      selection_ = selection;
      cost_ = *cost;
    }
    return *cost;
  }

  bool found() const { return !selection_.empty(); }
  double cost() const { return cost_; }
  const Selection& selection() const { return selection_; }

 private:
  const Problem& problem_;
  Selection selection_;
  double cost_ = kInfinity;
};

}  // namespace

StatusOr<Result> Extract(const Problem& problem, const Options& options) {
  ENCORE_RETURN_IF_ERROR(Validate(problem));
  const Problem expanded = ExpandGroups(problem);
  const ProblemIndex index(expanded);
  Result result;
  Incumbent incumbent(expanded);
  if (problem.roots.empty()) {
    result.feasible = result.optimal = true;
    result.lower_bound = 0;
    result.choice.assign(problem.num_classes(), kNoNode);
    return result;
  }
  const TreeCosts tree = BottomUpTree(expanded, index);
  result.statistics.tree_cost = incumbent.Offer(tree.choice);
  if (!incumbent.found()) return result;
  result.feasible = true;
  result.statistics.greedy_cost = incumbent.Offer(
      GreedyDag(expanded, index, kGreedyWork, &result.statistics.work));
  result.cost = incumbent.cost();
  result.choice = incumbent.selection();
  result.choice.resize(problem.num_classes());
  return result;
}

}  // namespace encore::opt::extract
