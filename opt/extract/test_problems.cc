#include "encore/opt/extract/test_problems.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "encore/opt/extract/checker.h"

namespace encore::opt::extract {
namespace {

// Distributions differ between standard libraries; the engine does not.
class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  uint32_t Below(uint32_t bound) { return engine_() % bound; }

 private:
  std::mt19937_64 engine_;
};

double RandomCost(const RandomShape& shape, Dice& dice) {
  if (shape.forbidden && dice.Below(8) == 0) {
    return std::numeric_limits<double>::infinity();
  }
  const int low = shape.negative && dice.Below(4) == 0 ? -6 : 0;
  const double cost = low + static_cast<int>(dice.Below(10));
  return shape.fractions ? cost + dice.Below(1000) / 1000.0 : cost;
}

// Tries every node of the first needed class without a choice.
void Search(const Problem& problem, Selection& selection,
            std::optional<double>& best) {
  std::vector<bool> needed(problem.num_classes(), false);
  std::vector<ClassIndex> stack(problem.roots);
  while (!stack.empty()) {
    const ClassIndex c = stack.back();
    stack.pop_back();
    if (needed[c]) continue;
    needed[c] = true;
    if (selection[c] != kNoNode) {
      const auto children = problem.children(selection[c]);
      stack.insert(stack.end(), children.begin(), children.end());
      continue;
    }
    for (NodeIndex n = problem.class_start[c]; n < problem.class_start[c + 1];
         ++n) {
      selection[c] = n;
      Search(problem, selection, best);
    }
    selection[c] = kNoNode;
    return;
  }
  const StatusOr<double> cost = CheckedCost(problem, selection);
  if (cost.ok() && (!best || *cost < *best)) best = *cost;
}

// Makes some nodes of different classes equal, as one group.
void AddGroups(Problem& problem, Dice& dice) {
  problem.group.assign(problem.num_nodes(), kNoGroup);
  for (uint32_t group = 0; group < 2; ++group) {
    const NodeIndex model = dice.Below(problem.num_nodes());
    if (problem.group[model] != kNoGroup) continue;
    const auto children = problem.children(model);
    problem.group[model] = group;
    for (NodeIndex n = 0; n < problem.num_nodes(); ++n) {
      // Children lie in one column: a member takes a model of equal length.
      if (problem.group[n] != kNoGroup || dice.Below(2) == 0 ||
          problem.children(n).size() != children.size()) {
        continue;
      }
      problem.group[n] = group;
      problem.cost[n] = problem.cost[model];
      std::copy(children.begin(), children.end(),
                problem.child.begin() + problem.child_start[n]);
    }
  }
}

}  // namespace

RandomShape ShapeOf(uint64_t seed) {
  RandomShape shape;
  shape.cyclic = seed & 1;
  shape.negative = seed & 2;
  shape.groups = seed & 4;
  shape.forbidden = seed & 8;
  shape.fractions = seed & 16;
  shape.max_nodes = 2 + seed % 3;
  if (shape.max_nodes == 4) shape.max_classes = 9;
  return shape;
}

Problem RandomProblem(const RandomShape& shape, uint64_t seed) {
  Dice dice(seed);
  const uint32_t classes =
      shape.min_classes + dice.Below(shape.max_classes - shape.min_classes + 1);
  Problem problem;
  std::vector<ClassIndex> children;
  for (ClassIndex c = 0; c < classes; ++c) {
    for (uint32_t left = 1 + dice.Below(shape.max_nodes); left > 0; --left) {
      children.clear();
      const uint32_t later = classes - c - 1;
      const uint32_t wanted = dice.Below(shape.max_children + 1);
      for (uint32_t i = 0; i < wanted; ++i) {
        if (shape.cyclic && dice.Below(3) == 0) {
          children.push_back(dice.Below(classes));
        } else if (later > 0) {
          children.push_back(c + 1 + dice.Below(later));
        }
      }
      problem.AddNode(RandomCost(shape, dice), children);
    }
    problem.FinishClass();
  }
  for (uint32_t left = 1 + dice.Below(3); left > 0; --left) {
    problem.roots.push_back(dice.Below(1 + classes / 3));
  }
  if (shape.groups) AddGroups(problem, dice);
  return problem;
}

std::optional<double> BruteForceCost(const Problem& problem) {
  Selection selection(problem.num_classes(), kNoNode);
  std::optional<double> best;
  Search(problem, selection, best);
  return best;
}

Problem Chain(uint32_t length) {
  Problem problem;
  for (ClassIndex c = 0; c < length; ++c) {
    const ClassIndex next[] = {c + 1};
    problem.AddNode(1, std::span(next, c + 1 < length ? 1 : 0));
    problem.FinishClass();
  }
  problem.roots = {0};
  return problem;
}

}  // namespace encore::opt::extract
