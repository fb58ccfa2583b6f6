// The extraction problem: of every class that is needed choose one node, so
// that the whole is acyclic and each chosen node is paid for once.
//
// A problem is flat columns. The nodes of class c are
// [class_start[c], class_start[c + 1]); the child classes of node n are
// child[child_start[n]] ... child[child_start[n + 1] - 1] (repetitions
// allowed). Costs may be negative; an infinite cost forbids the node.
//
// Groups model operations with several results. Nodes of one group (group[n],
// any number but kNoGroup) are projections of one operation: they have equal
// costs and equal children, and the cost is paid once however many of them are
// chosen.
//
// Plain data: copies are deep, const access from several threads is safe.
#ifndef ENCORE_OPT_EXTRACT_PROBLEM_H_
#define ENCORE_OPT_EXTRACT_PROBLEM_H_

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "encore/ir/support/status.h"

namespace encore::opt::extract {

using ClassIndex = uint32_t;
using NodeIndex = uint32_t;

inline constexpr NodeIndex kNoNode = std::numeric_limits<NodeIndex>::max();
inline constexpr uint32_t kNoGroup = std::numeric_limits<uint32_t>::max();
// What the finite costs of a problem may add up to, signs left aside.
inline constexpr double kMaxTotalCost = 1e300;

struct Problem {
  std::vector<uint32_t> class_start = {0};
  std::vector<double> cost;  // per node
  std::vector<uint32_t> child_start = {0};
  std::vector<ClassIndex> child;
  std::vector<ClassIndex> roots;  // repetitions allowed
  std::vector<uint32_t> group;    // per node, or empty: no groups

  uint32_t num_classes() const {
    return static_cast<uint32_t>(class_start.size()) - 1;
  }
  uint32_t num_nodes() const { return static_cast<uint32_t>(cost.size()); }
  uint32_t class_size(ClassIndex c) const {
    return class_start[c + 1] - class_start[c];
  }
  std::span<const ClassIndex> children(NodeIndex n) const {
    return {child.data() + child_start[n], child_start[n + 1] - child_start[n]};
  }

  // Appends a node to the class that FinishClass() will end.
  void AddNode(double node_cost, std::span<const ClassIndex> children);
  void FinishClass() { class_start.push_back(num_nodes()); }
};

// Whether the columns fit together, indices are in range, no cost is NaN or
// minus infinity, sums of costs cannot overflow, and the nodes of a group
// agree.
Status Validate(const Problem& problem);

// One node per class, kNoNode where none is chosen.
using Selection = std::vector<NodeIndex>;

// What algorithms ask of a problem beside its columns; linear time and space.
class ProblemIndex {
 public:
  explicit ProblemIndex(const Problem& problem);

  ClassIndex class_of(NodeIndex n) const { return class_of_[n]; }
  // The nodes with child class c, ascending, each once.
  std::span<const NodeIndex> users(ClassIndex c) const {
    return {user_.data() + user_start_[c], user_start_[c + 1] - user_start_[c]};
  }

 private:
  std::vector<ClassIndex> class_of_;
  std::vector<uint32_t> user_start_;
  std::vector<NodeIndex> user_;
};

// The same problem without groups: the operation of each group becomes a class
// of its own with one node, behind the classes of `problem`, and its members
// become free nodes with that class as only child. Nodes and classes of
// `problem` keep their numbers. REQUIRES: Validate(problem).ok().
Problem ExpandGroups(const Problem& problem);

// A selection of `problem` as one of what ExpandGroups made of it: the
// operation of each group has one node.
Selection WithOperations(const Problem& problem, const Problem& expanded,
                         std::span<const NodeIndex> selection);

// The strongly connected component of each class in the graph "class -> child
// classes of its nodes". A component's number is above those it reaches.
std::vector<uint32_t> StrongComponents(const Problem& problem);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_PROBLEM_H_
