#include "encore/opt/extract/reduced.h"

#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace encore::opt::extract {

Selection Reduced::Restore(const Selection& selection) const {
  Selection out = decided;
  for (ClassIndex c = 0; c < problem.num_classes(); ++c) {
    if (selection[c] != kNoNode) out[class_of[c]] = node_of[selection[c]];
  }
  return out;
}

Selection Reduced::Project(const Selection& original) const {
  Selection out(problem.num_classes(), kNoNode);
  for (ClassIndex c = 0; c < problem.num_classes(); ++c) {
    for (NodeIndex n = problem.class_start[c]; n < problem.class_start[c + 1];
         ++n) {
      if (node_of[n] == original[class_of[c]]) out[c] = n;
    }
  }
  return out;
}

std::vector<Reduced> Split(const Reduced& reduced) {
  const Problem& problem = reduced.problem;
  // Union-find over classes that a node joins.
  std::vector<ClassIndex> head(problem.num_classes());
  std::iota(head.begin(), head.end(), 0);
  const auto find = [&](ClassIndex c) {
    while (head[c] != c) c = head[c] = head[head[c]];
    return c;
  };
  for (ClassIndex c = 0; c < problem.num_classes(); ++c) {
    for (NodeIndex n = problem.class_start[c]; n < problem.class_start[c + 1];
         ++n) {
      for (const ClassIndex d : problem.children(n)) head[find(c)] = find(d);
    }
  }
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> part_of_head(problem.num_classes(), kNone);
  std::vector<ClassIndex> number(problem.num_classes());
  std::vector<Reduced> parts;
  const auto part_of = [&](ClassIndex c) -> Reduced& {
    uint32_t& part = part_of_head[find(c)];
    if (part == kNone) {
      part = parts.size();
      parts.emplace_back().decided.assign(reduced.decided.size(), kNoNode);
    }
    return parts[part];
  };
  for (ClassIndex c = 0; c < problem.num_classes(); ++c) {
    Reduced& part = part_of(c);
    number[c] = part.class_of.size();
    part.class_of.push_back(reduced.class_of[c]);
  }
  std::vector<ClassIndex> children;
  for (ClassIndex c = 0; c < problem.num_classes(); ++c) {
    Reduced& part = part_of(c);
    for (NodeIndex n = problem.class_start[c]; n < problem.class_start[c + 1];
         ++n) {
      children.clear();
      for (const ClassIndex d : problem.children(n)) {
        children.push_back(number[d]);
      }
      part.problem.AddNode(problem.cost[n], children);
      part.node_of.push_back(reduced.node_of[n]);
    }
    part.problem.FinishClass();
  }
  for (const ClassIndex root : problem.roots) {
    part_of(root).problem.roots.push_back(number[root]);
  }
  return parts;
}

}  // namespace encore::opt::extract
