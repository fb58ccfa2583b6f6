#include "encore/opt/extract/narrow_dp.h"

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace encore::opt::extract {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Costs by the bits of some classes: bit i of a row number says whether
// scope[i] is needed.
struct Factor {
  std::vector<ClassIndex> scope;
  std::vector<double> table;
};

class Elimination {
 public:
  Elimination(const Problem& problem, uint32_t max_width, uint64_t max_work)
      : problem_(problem),
        max_width_(max_width),
        max_work_(max_work),
        neighbours_(problem.num_classes()),
        is_root_(problem.num_classes(), false),
        place_(problem.num_classes()) {
    for (const ClassIndex root : problem.roots) is_root_[root] = true;
  }

  Selection Run(uint64_t* work) {
    Selection out;
    if (Qualifies() && Order() && Eliminate()) out = Choose();
    *work += work_;
    return out;
  }

 private:
  struct Step {
    ClassIndex c;
    Factor best;                // over what c was joined with, c minimized
    std::vector<uint8_t> need;  // by row of `best`: whether c is needed
  };

  bool Qualifies() const {
    const std::vector<uint32_t> component = StrongComponents(problem_);
    std::vector<uint8_t> seen(problem_.num_classes(), false);
    for (const uint32_t part : component) {
      if (std::exchange(seen[part], true)) return false;
    }
    for (ClassIndex c = 0; c < problem_.num_classes(); ++c) {
      for (NodeIndex n = problem_.class_start[c];
           n < problem_.class_start[c + 1]; ++n) {
        const auto children = problem_.children(n);
        if (std::find(children.begin(), children.end(), c) != children.end()) {
          return false;
        }
      }
    }
    return std::all_of(problem_.cost.begin(), problem_.cost.end(),
                       [](double cost) { return cost >= 0; });
  }

  std::vector<ClassIndex> OwnScope(ClassIndex c) const {
    std::vector<ClassIndex> scope = {c};
    for (NodeIndex n = problem_.class_start[c]; n < problem_.class_start[c + 1];
         ++n) {
      const auto children = problem_.children(n);
      scope.insert(scope.end(), children.begin(), children.end());
    }
    std::sort(scope.begin(), scope.end());
    scope.erase(std::unique(scope.begin(), scope.end()), scope.end());
    return scope;
  }

  // The order of elimination by least degree; false where one is too high.
  bool Order() {
    for (ClassIndex c = 0; c < problem_.num_classes(); ++c) {
      const auto scope = OwnScope(c);
      if (scope.size() > max_width_) return false;
      Join(scope);
    }
    std::set<std::pair<size_t, ClassIndex>> queue;
    for (ClassIndex c = 0; c < problem_.num_classes(); ++c) {
      queue.emplace(neighbours_[c].size(), c);
    }
    while (!queue.empty()) {
      const ClassIndex c = queue.begin()->second;
      const std::vector<ClassIndex> near(neighbours_[c].begin(),
                                         neighbours_[c].end());
      if (near.size() + 1 > max_width_) return false;
      for (const ClassIndex d : near) queue.erase({neighbours_[d].size(), d});
      queue.erase(queue.begin());
      Join(near);
      for (const ClassIndex d : near) neighbours_[d].erase(c);
      for (const ClassIndex d : near) queue.emplace(neighbours_[d].size(), d);
      place_[c] = order_.size();
      order_.push_back(c);
    }
    return true;
  }

  void Join(const std::vector<ClassIndex>& classes) {
    for (const ClassIndex c : classes) {
      for (const ClassIndex d : classes) {
        if (c != d) neighbours_[c].insert(d);
      }
    }
  }

  // Where in `scope` each of `classes` lies.
  static std::vector<int> Places(const std::vector<ClassIndex>& scope,
                                 std::span<const ClassIndex> classes) {
    std::vector<int> places;
    for (const ClassIndex c : classes) {
      places.push_back(std::lower_bound(scope.begin(), scope.end(), c) -
                       scope.begin());
    }
    return places;
  }

  Factor OwnFactor(ClassIndex c) const {
    Factor factor{OwnScope(c), {}};
    const ClassIndex self[] = {c};
    const uint64_t own = uint64_t{1} << Places(factor.scope, self)[0];
    factor.table.assign(uint64_t{1} << factor.scope.size(), 0);
    for (uint64_t row = 0; row < factor.table.size(); ++row) {
      if ((row & own) || is_root_[c]) factor.table[row] = kInfinity;
    }
    for (NodeIndex n = problem_.class_start[c]; n < problem_.class_start[c + 1];
         ++n) {
      uint64_t wanted = own;
      for (const int place : Places(factor.scope, problem_.children(n))) {
        wanted |= uint64_t{1} << place;
      }
      for (uint64_t row = 0; row < factor.table.size(); ++row) {
        if ((row & wanted) == wanted) {
          factor.table[row] = std::min(factor.table[row], problem_.cost[n]);
        }
      }
    }
    return factor;
  }

  bool Eliminate() {
    // Factors wait at the class of their scope that is eliminated first.
    std::vector<std::vector<Factor>> waiting(problem_.num_classes());
    const auto wait = [&](Factor factor) {
      if (factor.scope.empty()) return;
      const ClassIndex first = *std::min_element(
          factor.scope.begin(), factor.scope.end(),
          [&](ClassIndex a, ClassIndex b) { return place_[a] < place_[b]; });
      waiting[first].push_back(std::move(factor));
    };
    for (ClassIndex c = 0; c < problem_.num_classes(); ++c) {
      work_ += (uint64_t{1} << OwnScope(c).size()) * problem_.class_size(c);
      if (work_ > max_work_) return false;
      wait(OwnFactor(c));
    }
    for (const ClassIndex c : order_) {
      if (!EliminateOne(c, std::exchange(waiting[c], {}))) return false;
      wait(steps_.back().best);
    }
    return true;
  }

  bool EliminateOne(ClassIndex c, const std::vector<Factor>& factors) {
    Step& step = steps_.emplace_back();
    step.c = c;
    std::vector<ClassIndex> scope = {c};
    for (const Factor& factor : factors) {
      scope.insert(scope.end(), factor.scope.begin(), factor.scope.end());
    }
    std::sort(scope.begin(), scope.end());
    scope.erase(std::unique(scope.begin(), scope.end()), scope.end());
    const uint64_t rows = uint64_t{1} << scope.size();
    work_ += rows * factors.size();
    if (work_ > max_work_) return false;
    std::vector<double> sum(rows, 0.0);
    for (const Factor& factor : factors) Add(factor, scope, &sum);
    const ClassIndex self[] = {c};
    const int own = Places(scope, self)[0];
    scope.erase(scope.begin() + own);
    step.best.scope = scope;
    step.best.table.resize(rows / 2);
    step.need.resize(rows / 2);
    const uint64_t low = (uint64_t{1} << own) - 1;
    for (uint64_t row = 0; row < rows / 2; ++row) {
      const uint64_t without = (row & low) | (row & ~low) << 1;
      const uint64_t with = without | uint64_t{1} << own;
      step.need[row] = sum[with] < sum[without];
      step.best.table[row] = std::min(sum[with], sum[without]);
    }
    return true;
  }

  static void Add(const Factor& factor, const std::vector<ClassIndex>& scope,
                  std::vector<double>* sum) {
    const std::vector<int> places = Places(scope, factor.scope);
    for (uint64_t row = 0; row < sum->size(); ++row) {
      uint64_t from = 0;
      for (size_t i = 0; i < places.size(); ++i) {
        from |= (row >> places[i] & 1) << i;
      }
      (*sum)[row] += factor.table[from];
    }
  }

  // Decides in reverse order, then takes the cheapest nodes.
  Selection Choose() const {
    std::vector<uint8_t> needed(problem_.num_classes(), false);
    for (size_t i = steps_.size(); i-- > 0;) {
      const Step& step = steps_[i];
      uint64_t row = 0;
      for (size_t k = 0; k < step.best.scope.size(); ++k) {
        row |= uint64_t{needed[step.best.scope[k]]} << k;
      }
      needed[step.c] = step.need[row];
    }
    Selection out(problem_.num_classes(), kNoNode);
    for (ClassIndex c = 0; c < problem_.num_classes(); ++c) {
      if (!needed[c]) continue;
      for (NodeIndex n = problem_.class_start[c];
           n < problem_.class_start[c + 1]; ++n) {
        const auto children = problem_.children(n);
        const bool open = std::all_of(children.begin(), children.end(),
                                      [&](ClassIndex d) { return needed[d]; });
        if (open &&
            (out[c] == kNoNode || problem_.cost[n] < problem_.cost[out[c]])) {
          out[c] = n;
        }
      }
    }
    return out;
  }

  const Problem& problem_;
  const uint32_t max_width_;
  const uint64_t max_work_;
  uint64_t work_ = 0;
  std::vector<std::set<ClassIndex>> neighbours_;
  std::vector<uint8_t> is_root_;
  std::vector<uint32_t> place_;
  std::vector<ClassIndex> order_;
  std::vector<Step> steps_;
};

}  // namespace

Selection SolveNarrow(const Problem& problem, uint32_t max_width,
                      uint64_t max_work, uint64_t* work) {
  return Elimination(problem, max_width, max_work).Run(work);
}

}  // namespace encore::opt::extract
