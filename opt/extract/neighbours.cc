#include "encore/opt/extract/neighbours.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/opt/extract/checker.h"
#include "encore/opt/extract/selection_state.h"

namespace encore::opt::extract {
namespace {

class Search {
 public:
  Search(const Problem& problem, const ProblemIndex& index,
         uint32_t classes_to_give, const Selection& from, double cost,
         const NeighbourLimits& limits)
      : problem_(problem),
        classes_to_give_(classes_to_give),
        from_(from),
        most_(cost + (limits.most_cost - 1) * std::abs(cost)),
        limits_(limits),
        state_(problem, index) {}

  std::vector<Neighbour> Run() {
    state_.Load(from_);
    seen_.insert(Reached());
    const std::vector<Others> others = OthersOfClasses();
    size_t most = 0;
    for (const Others& of : others) most = std::max(most, of.nodes.size());
    for (size_t rank = 0; rank < most && !Done(); ++rank) {
      for (const Others& of : others) {
        if (rank < of.nodes.size() && !Done()) Try(of.c, of.nodes[rank]);
      }
    }
    return std::move(found_);
  }

 private:
  // Nodes of a class that can be chosen instead.
  struct Others {
    ClassIndex c;
    double freed = 0;  // the most that becomes needless with one of them
    std::vector<NodeIndex> nodes = {};
  };

  bool Done() {
    work_ += state_.TakeWork();
    return found_.size() >= limits_.count || work_ >= limits_.work;
  }

  // In the order of their turns.
  std::vector<Others> OthersOfClasses() {
    std::vector<Others> all;
    for (ClassIndex c = 0; c < problem_.num_classes(); ++c) {
      if (!state_.needed(c)) continue;
      std::vector<std::tuple<double, double, NodeIndex>> nodes;
      for (NodeIndex n = problem_.class_start[c];
           n < problem_.class_start[c + 1]; ++n) {
        if (n == state_.choice(c)) continue;
        const size_t mark = state_.Mark();
        if (!state_.Switch(c, n)) continue;
        nodes.emplace_back(-state_.CostLeftSince(mark), state_.cost(), n);
        state_.UndoTo(mark);
      }
      if (nodes.empty()) continue;
      std::ranges::sort(nodes);
      Others& of = all.emplace_back(c, -std::get<0>(nodes[0]));
      for (const auto& [freed, cost, n] : nodes) of.nodes.push_back(n);
    }
    std::ranges::sort(
        all, {}, [&](const Others& of) { return std::pair(-of.freed, of.c); });
    return all;
  }

  // The solution next to the given one with node n for class `held`.
  void Try(ClassIndex held, NodeIndex n) {
    state_.Load(from_);
    work_ += problem_.num_classes();
    if (!state_.Switch(held, n)) return;
    state_.Commit();
    for (bool improved = true; improved && !Done();) {
      improved = false;
      for (ClassIndex c = 0; c < problem_.num_classes(); ++c) {
        if (c == held || !state_.needed(c)) continue;
        improved |= state_.ImproveClass(c);
      }
    }
    Selection reached = Reached();
    if (!seen_.insert(reached).second) return;
    const StatusOr<double> cost = CheckedCost(problem_, state_.choices());
    if (!cost.ok() || *cost > most_) return;
    found_.push_back({std::move(reached), *cost});
  }

  Selection Reached() const {
    Selection reached(classes_to_give_, kNoNode);
    for (ClassIndex c = 0; c < classes_to_give_; ++c) {
      if (state_.needed(c)) reached[c] = state_.choice(c);
    }
    return reached;
  }

  const Problem& problem_;
  const uint32_t classes_to_give_;
  const Selection& from_;
  const double most_;
  const NeighbourLimits limits_;
  SelectionState state_;
  uint64_t work_ = 0;
  std::set<Selection> seen_;
  std::vector<Neighbour> found_;
};

}  // namespace

StatusOr<std::vector<Neighbour>> Neighbours(const Problem& problem,
                                            const Selection& choice,
                                            const NeighbourLimits& limits) {
  ENCORE_RETURN_IF_ERROR(Validate(problem));
  if (choice.size() != problem.num_classes()) {
    return InvalidArgumentError("a selection of another problem's size");
  }
  ENCORE_ASSIGN_OR_RETURN(const double cost, CheckedCost(problem, choice));
  const Problem expanded = ExpandGroups(problem);
  const ProblemIndex index(expanded);
  const Selection from = WithOperations(problem, expanded, choice);
  return Search(expanded, index, problem.num_classes(), from, cost, limits)
      .Run();
}

}  // namespace encore::opt::extract
