#include "encore/opt/extract/path_bound.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace encore::opt::extract {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Per class, with negative costs as zero. Classes are finished in ascending
// order, so that a node's last child to be finished is its dearest.
std::vector<double> LongestPaths(const Problem& problem,
                                 const ProblemIndex& index) {
  std::vector<uint32_t> open(problem.num_nodes());
  std::vector<double> least(problem.num_classes(), kInfinity);
  std::vector<uint8_t> finished(problem.num_classes(), false);
  using Entry = std::pair<double, ClassIndex>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto offer = [&](NodeIndex n, double below) {
    const ClassIndex c = index.class_of(n);
    const double cost = std::max(problem.cost[n], 0.0) + below;
    if (cost >= least[c]) return;
    least[c] = cost;
    queue.push({cost, c});
  };
  std::vector<ClassIndex> children;
  for (NodeIndex n = 0; n < problem.num_nodes(); ++n) {
    const auto all = problem.children(n);
    children.assign(all.begin(), all.end());
    std::sort(children.begin(), children.end());
    open[n] = std::unique(children.begin(), children.end()) - children.begin();
    if (open[n] == 0) offer(n, 0);
  }
  while (!queue.empty()) {
    const auto [cost, c] = queue.top();
    queue.pop();
    if (std::exchange(finished[c], true)) continue;
    for (const NodeIndex n : index.users(c)) {
      if (--open[n] == 0) offer(n, cost);
    }
  }
  return least;
}

}  // namespace

double PathBound(const Problem& problem, const ProblemIndex& index) {
  const std::vector<double> least = LongestPaths(problem, index);
  double bound = 0;
  for (const ClassIndex root : problem.roots) {
    bound = std::max(bound, least[root]);
  }
  for (ClassIndex c = 0; c < problem.num_classes(); ++c) {
    double gain = 0;
    for (NodeIndex n = problem.class_start[c]; n < problem.class_start[c + 1];
         ++n) {
      gain = std::min(gain, problem.cost[n]);
    }
    bound += gain;
  }
  return bound;
}

}  // namespace encore::opt::extract
