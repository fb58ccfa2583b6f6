#include "encore/opt/extract/checker.h"

#include <cmath>
#include <unordered_set>
#include <vector>

#include "encore/ir/support/strings.h"

namespace encore::opt::extract {

StatusOr<double> CheckedCost(const Problem& problem,
                             std::span<const NodeIndex> selection) {
  enum : uint8_t { kNew, kOnPath, kDone };
  std::vector<uint8_t> state(problem.num_classes(), kNew);
  std::unordered_set<uint32_t> paid_groups;
  std::vector<std::pair<ClassIndex, uint32_t>> path;  // class, next child
  double cost = 0;
  for (const ClassIndex root : problem.roots) {
    if (state[root] == kNew) path.emplace_back(root, 0);
    while (!path.empty()) {
      auto& [c, next] = path.back();
      const NodeIndex n = selection[c];
      if (state[c] == kNew) {
        if (n == kNoNode) {
          return InvalidArgumentError(StrCat("class ", c, " has no choice"));
        }
        if (n < problem.class_start[c] || n >= problem.class_start[c + 1]) {
          return InvalidArgumentError(
              StrCat("node ", n, " is not of class ", c));
        }
        if (std::isinf(problem.cost[n])) {
          return InvalidArgumentError(StrCat("node ", n, " is forbidden"));
        }
        state[c] = kOnPath;
        const bool grouped =
            !problem.group.empty() && problem.group[n] != kNoGroup;
        if (!grouped || paid_groups.insert(problem.group[n]).second) {
          cost += problem.cost[n];
        }
      }
      const auto children = problem.children(n);
      if (next == children.size()) {
        state[c] = kDone;
        path.pop_back();
        continue;
      }
      const ClassIndex to = children[next++];
      if (state[to] == kOnPath) {
        return InvalidArgumentError(StrCat("class ", to, " needs itself"));
      }
      if (state[to] == kNew) path.emplace_back(to, 0);
    }
  }
  return cost;
}

}  // namespace encore::opt::extract
