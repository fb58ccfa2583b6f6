#include "encore/opt/extract/exact.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "encore/opt/extract/checker.h"

namespace encore::opt::extract {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What the program's objective is multiplied by: integers become as small as
// they can, others large against the solver's absolute tolerances.
double ObjectiveScale(const Problem& problem, double unit) {
  if (unit > 0) return 1 / unit;
  double largest = 0;
  for (const double cost : problem.cost) {
    largest = std::max(largest, std::abs(cost));
  }
  if (largest == 0) return 1;
  return std::exp2(std::round(std::log2(1000 / largest)));
}

// Builds the program and translates solutions.
class Formulation {
 public:
  Formulation(const Problem& problem, double scale, Branching branching)
      : problem_(problem),
        index_(problem),
        component_(StrongComponents(problem)),
        component_size_(problem.num_classes(), 0),
        chosen_(problem.num_classes()) {
    for (const uint32_t part : component_) ++component_size_[part];
    const bool negative = std::any_of(problem.cost.begin(), problem.cost.end(),
                                      [](double cost) { return cost < 0; });
    AddColumns(scale, branching == Branching::kClasses && !negative);
    for (ClassIndex c = 0; c < problem.num_classes(); ++c) AddRows(c);
    if (negative) AddSupport();
  }

  MipModel TakeModel() { return std::move(model_); }

  std::vector<double> Encode(const Selection& selection) const {
    std::vector<double> values(num_columns_, 0.0);
    // Levels: a class lies one above its highest child, found by a search that
    // leaves a class after its children.
    std::vector<uint8_t> state(problem_.num_classes(), 0);
    std::vector<double> level(problem_.num_classes(), 0);
    std::vector<ClassIndex> stack(problem_.roots);
    while (!stack.empty()) {
      const ClassIndex c = stack.back();
      const auto children = problem_.children(selection[c]);
      if (state[c] == 0) {
        state[c] = 1;
        for (const ClassIndex d : children) {
          if (state[d] == 0) stack.push_back(d);
        }
        continue;
      }
      stack.pop_back();
      if (std::exchange(state[c], 2) == 2) continue;
      for (const ClassIndex d : children) {
        if (component_[d] == component_[c]) {
          level[c] = std::max(level[c], level[d] + 1);
        }
      }
      values[selection[c]] = 1;
      values[chosen_[c]] = 1;
      if (Cyclic(c)) values[chosen_[c] + 1] = level[c];
    }
    return values;
  }

  Selection Decode(const std::vector<double>& values) const {
    Selection out(problem_.num_classes(), kNoNode);
    for (ClassIndex c = 0; c < problem_.num_classes(); ++c) {
      if (values[chosen_[c]] < 0.5) continue;
      const auto begin = values.begin() + problem_.class_start[c];
      const auto end = values.begin() + problem_.class_start[c + 1];
      out[c] = std::max_element(begin, end) - values.begin();
    }
    return out;
  }

 private:
  using Term = MipModel::Term;

  bool Cyclic(ClassIndex c) const { return component_size_[component_[c]] > 1; }

  // Columns 0 ... num_nodes() - 1 are the nodes; with `relax` they need not be
  // integers outside cycles.
  void AddColumns(double scale, bool relax) {
    for (NodeIndex n = 0; n < problem_.num_nodes(); ++n) {
      model_.AddColumn(problem_.cost[n] * scale, 0, 1,
                       !relax || Cyclic(index_.class_of(n)));
    }
    for (ClassIndex c = 0; c < problem_.num_classes(); ++c) {
      chosen_[c] = model_.AddColumn(0, 0, 1, true);
      if (Cyclic(c)) {
        model_.AddColumn(0, 0, component_size_[component_[c]], false);
      }
    }
    for (const ClassIndex root : problem_.roots) {
      model_.column_lower[chosen_[root]] = 1;
    }
    num_columns_ = model_.num_columns();
  }

  // The child classes of c with the nodes that have them, by class.
  std::vector<std::pair<ClassIndex, NodeIndex>> Uses(ClassIndex c) const {
    std::vector<std::pair<ClassIndex, NodeIndex>> uses;
    for (NodeIndex n = problem_.class_start[c]; n < problem_.class_start[c + 1];
         ++n) {
      for (const ClassIndex d : problem_.children(n)) uses.emplace_back(d, n);
    }
    std::sort(uses.begin(), uses.end());
    return uses;
  }

  void AddRows(ClassIndex c) {
    std::vector<Term> terms;
    for (NodeIndex n = problem_.class_start[c]; n < problem_.class_start[c + 1];
         ++n) {
      terms.push_back({static_cast<int>(n), 1});
    }
    terms.push_back({chosen_[c], -1});
    model_.AddRow(0, 0, terms);
    const auto uses = Uses(c);
    for (size_t i = 0; i < uses.size();) {
      const ClassIndex d = uses[i].first;
      terms.clear();
      for (; i < uses.size() && uses[i].first == d; ++i) {
        terms.push_back({static_cast<int>(uses[i].second), 1});
      }
      AddUse(c, d, std::move(terms));
    }
  }

  // `terms`: the nodes of c with child d.
  void AddUse(ClassIndex c, ClassIndex d, std::vector<Term> terms) {
    const bool cycle = component_[c] == component_[d];
    const size_t forward = terms.size();
    if (cycle) {
      for (NodeIndex n = problem_.class_start[d];
           n < problem_.class_start[d + 1]; ++n) {
        const auto children = problem_.children(n);
        if (std::find(children.begin(), children.end(), c) != children.end()) {
          terms.push_back({static_cast<int>(n), 1});
        }
      }
    }
    terms.push_back({chosen_[d], -1});
    model_.AddRow(-kInfinity, 0, terms);
    if (!cycle) return;
    const double size = component_size_[component_[c]];
    terms.resize(forward);
    for (Term& term : terms) term.factor = -size - 1;
    terms.push_back({chosen_[c] + 1, 1});
    terms.push_back({chosen_[d] + 1, -1});
    model_.AddRow(-size, kInfinity, terms);
  }

  void AddSupport() {
    std::vector<uint8_t> is_root(problem_.num_classes(), false);
    for (const ClassIndex root : problem_.roots) is_root[root] = true;
    std::vector<Term> terms;
    for (ClassIndex c = 0; c < problem_.num_classes(); ++c) {
      if (is_root[c]) continue;
      terms.assign(1, {chosen_[c], 1});
      for (const NodeIndex n : index_.users(c)) {
        terms.push_back({static_cast<int>(n), -1});
      }
      model_.AddRow(-kInfinity, 0, terms);
    }
  }

  const Problem& problem_;
  const ProblemIndex index_;
  const std::vector<uint32_t> component_;
  std::vector<uint32_t> component_size_;
  std::vector<int> chosen_;  // y column per class; its level's column follows
  MipModel model_;
  int num_columns_ = 0;
};

}  // namespace

double CostUnit(const Problem& problem) {
  constexpr double kLargest = 1e9;
  int64_t unit = 0;
  for (const double cost : problem.cost) {
    if (cost != std::floor(cost) || std::abs(cost) > kLargest) return 0;
    unit = std::gcd(unit, static_cast<int64_t>(cost));
  }
  return static_cast<double>(unit);
}

double RoundBoundUp(double bound, double unit) {
  if (unit == 0 || !std::isfinite(bound)) return bound;
  return std::ceil(bound / unit - 1e-3) * unit;
}

ExactOutcome SolveExactly(const Problem& problem, const Selection& start,
                          const MipLimits& limits, Branching branching) {
  const double unit = CostUnit(problem);
  const double scale = ObjectiveScale(problem, unit);
  Formulation formulation(problem, scale, branching);
  std::vector<double> begin;
  if (!start.empty()) begin = formulation.Encode(start);
  const MipOutcome mip =
      SolveMip(formulation.TakeModel(), std::move(begin), limits);
  ExactOutcome out;
  out.bound = -kInfinity;
  out.iterations = mip.iterations;
  if (!mip.solution.empty()) {
    Selection selection = formulation.Decode(mip.solution);
    const StatusOr<double> cost = CheckedCost(problem, selection);
    if (cost.ok()) {
      out.selection = std::move(selection);
      out.cost = *cost;
    }
  }
  if (!std::isfinite(mip.bound)) return out;
  if (unit > 0) {
    out.bound = RoundBoundUp(mip.bound, 1) * unit;
    out.optimal = !out.selection.empty() && out.cost <= out.bound;
  } else {
    // What the solver's tolerances may have added is taken off again.
    const double slack = 1e-6 * std::max(1.0, std::abs(mip.bound));
    out.bound = (mip.bound - slack) / scale;
    out.optimal = mip.optimal && !out.selection.empty() &&
                  out.cost * scale <= mip.bound + slack;
  }
  if (out.optimal) out.bound = out.cost;
  return out;
}

}  // namespace encore::opt::extract
