#include "encore/opt/extract/problem.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "encore/ir/support/strings.h"

namespace encore::opt::extract {
namespace {

bool IsOffsets(const std::vector<uint32_t>& start, size_t end) {
  return !start.empty() && start.front() == 0 && start.back() == end &&
         std::is_sorted(start.begin(), start.end());
}

bool InRange(const std::vector<ClassIndex>& classes, uint32_t bound) {
  return std::all_of(classes.begin(), classes.end(),
                     [bound](ClassIndex c) { return c < bound; });
}

std::vector<ClassIndex> SortedChildren(const Problem& problem, NodeIndex n) {
  const auto children = problem.children(n);
  std::vector<ClassIndex> sorted(children.begin(), children.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

Status ValidateGroups(const Problem& problem) {
  if (problem.group.empty()) return OkStatus();
  if (problem.group.size() != problem.num_nodes()) {
    return InvalidArgumentError("group must be empty or have a row per node");
  }
  std::unordered_map<uint32_t, NodeIndex> first;
  for (NodeIndex n = 0; n < problem.num_nodes(); ++n) {
    if (problem.group[n] == kNoGroup) continue;
    const NodeIndex other = first.emplace(problem.group[n], n).first->second;
    if (problem.cost[other] != problem.cost[n] ||
        SortedChildren(problem, other) != SortedChildren(problem, n)) {
      return InvalidArgumentError(StrCat("nodes ", other, " and ", n,
                                         " of group ", problem.group[n],
                                         " differ in cost or children"));
    }
  }
  return OkStatus();
}

}  // namespace

void Problem::AddNode(double node_cost, std::span<const ClassIndex> children) {
  cost.push_back(node_cost);
  child.insert(child.end(), children.begin(), children.end());
  child_start.push_back(static_cast<uint32_t>(child.size()));
}

Status Validate(const Problem& problem) {
  if (!IsOffsets(problem.class_start, problem.cost.size()) ||
      !IsOffsets(problem.child_start, problem.child.size()) ||
      problem.child_start.size() != problem.cost.size() + 1) {
    return InvalidArgumentError("class_start or child_start is no offset list");
  }
  if (!InRange(problem.child, problem.num_classes()) ||
      !InRange(problem.roots, problem.num_classes())) {
    return InvalidArgumentError("a child or root is no class");
  }
  double total = 0;
  for (NodeIndex n = 0; n < problem.num_nodes(); ++n) {
    const double cost = problem.cost[n];
    if (std::isnan(cost) || (std::isinf(cost) && cost < 0)) {
      return InvalidArgumentError(StrCat("node ", n, " has cost ", cost));
    }
    if (std::isfinite(cost)) total += std::abs(cost);
  }
  if (total > kMaxTotalCost) {
    return InvalidArgumentError(
        StrCat("the costs add up to ", total, ", and sums above ",
               kMaxTotalCost, " may overflow; give them in a larger unit"));
  }
  return ValidateGroups(problem);
}

ProblemIndex::ProblemIndex(const Problem& problem)
    : class_of_(problem.num_nodes()),
      user_start_(problem.num_classes() + 2, 0) {
  for (ClassIndex c = 0; c < problem.num_classes(); ++c) {
    std::fill(class_of_.begin() + problem.class_start[c],
              class_of_.begin() + problem.class_start[c + 1], c);
  }
  // A child that repeats within a node counts once: `last` remembers the node.
  std::vector<NodeIndex> last(problem.num_classes(), kNoNode);
  const auto each_use = [&](auto use) {
    std::fill(last.begin(), last.end(), kNoNode);
    for (NodeIndex n = 0; n < problem.num_nodes(); ++n) {
      for (const ClassIndex c : problem.children(n)) {
        if (std::exchange(last[c], n) != n) use(n, c);
      }
    }
  };
  each_use([&](NodeIndex, ClassIndex c) { ++user_start_[c + 2]; });
  for (size_t i = 2; i < user_start_.size(); ++i) {
    user_start_[i] += user_start_[i - 1];
  }
  user_.resize(user_start_.back());
  each_use([&](NodeIndex n, ClassIndex c) { user_[user_start_[c + 1]++] = n; });
  user_start_.pop_back();
}

Problem ExpandGroups(const Problem& problem) {
  if (problem.group.empty()) return problem;
  // Group -> its first node and its class; an ordered map fixes the numbers.
  std::map<uint32_t, std::pair<NodeIndex, ClassIndex>> groups;
  for (NodeIndex n = 0; n < problem.num_nodes(); ++n) {
    if (problem.group[n] != kNoGroup) {
      groups.emplace(problem.group[n], std::pair(n, 0));
    }
  }
  ClassIndex next = problem.num_classes();
  for (auto& [id, place] : groups) place.second = next++;

  Problem out;
  out.roots = problem.roots;
  for (ClassIndex c = 0; c < problem.num_classes(); ++c) {
    for (NodeIndex n = problem.class_start[c]; n < problem.class_start[c + 1];
         ++n) {
      if (problem.group[n] == kNoGroup) {
        out.AddNode(problem.cost[n], problem.children(n));
      } else {
        const ClassIndex operation[] = {groups.at(problem.group[n]).second};
        out.AddNode(0, operation);
      }
    }
    out.FinishClass();
  }
  for (const auto& [id, place] : groups) {
    out.AddNode(problem.cost[place.first], problem.children(place.first));
    out.FinishClass();
  }
  return out;
}

Selection WithOperations(const Problem& problem, const Problem& expanded,
                         std::span<const NodeIndex> selection) {
  Selection out(selection.begin(), selection.end());
  for (ClassIndex c = problem.num_classes(); c < expanded.num_classes(); ++c) {
    out.push_back(expanded.class_start[c]);
  }
  return out;
}

std::vector<uint32_t> StrongComponents(const Problem& problem) {
  // Tarjan's algorithm. The edges of class c are the consecutive children of
  // its consecutive nodes, so one cursor into `child` per open class suffices.
  constexpr uint32_t kUnseen = std::numeric_limits<uint32_t>::max();
  const uint32_t n = problem.num_classes();
  const auto edges_end = [&](ClassIndex c) {
    return problem.child_start[problem.class_start[c + 1]];
  };
  std::vector<uint32_t> component(n, kUnseen), low(n, kUnseen), cursor(n);
  std::vector<ClassIndex> open, path;
  uint32_t order = 0, components = 0;
  const auto enter = [&](ClassIndex c) {
    low[c] = order++;
    cursor[c] = problem.child_start[problem.class_start[c]];
    open.push_back(c);
    path.push_back(c);
  };
  std::vector<uint32_t> number(n, kUnseen);
  for (ClassIndex start = 0; start < n; ++start) {
    if (number[start] != kUnseen) continue;
    number[start] = order;
    enter(start);
    while (!path.empty()) {
      const ClassIndex c = path.back();
      if (cursor[c] < edges_end(c)) {
        const ClassIndex to = problem.child[cursor[c]++];
        if (number[to] == kUnseen) {
          number[to] = order;
          enter(to);
        } else if (component[to] == kUnseen) {
          low[c] = std::min(low[c], number[to]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[c]);
      if (low[c] != number[c]) continue;
      ClassIndex member;
      do {
        member = open.back();
        open.pop_back();
        component[member] = components;
      } while (member != c);
      ++components;
    }
  }
  return component;
}

}  // namespace encore::opt::extract
