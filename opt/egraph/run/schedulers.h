// The schedulers there are. Without one a Runner runs every rule in every
// iteration.
#ifndef ENCORE_OPT_EGRAPH_RUN_SCHEDULERS_H_
#define ENCORE_OPT_EGRAPH_RUN_SCHEDULERS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/egraph/run/tree_cost.h"

namespace encore::egraph {

// A rule with more than `match_limit` matches in an iteration is not applied
// and is banned for `ban_length` iterations; both numbers double with each of
// its bans (egg's BackoffScheduler).
class BackoffScheduler : public Scheduler {
 public:
  explicit BackoffScheduler(size_t match_limit = 1000, size_t ban_length = 5)
      : match_limit_(match_limit), ban_length_(ban_length) {}

  Quota Allow(size_t iteration, RuleId rule) override;
  void Held(size_t iteration, RuleId rule) override;
  bool MaySaturate(size_t iteration) override;

 private:
  struct State {
    size_t bans = 0;
    size_t banned_until = 0;
  };
  State& StateOf(RuleId rule);

  const size_t match_limit_;
  const size_t ban_length_;
  std::vector<State> states_;
};

// Spends matches where the best cost of `root` falls most per node added. Each
// rule has a quota per iteration. After an iteration in which the least tree
// cost of the root fell, the fall is shared out among the rules that made
// unions in it, in proportion to these; a rule's worth is its share per node it
// added, old shares fading by half each iteration. Quotas go from `min_quota`
// to `max_quota` in proportion to worth; while nothing falls they double, so
// that every rule's matches are applied in the end. Costs one extraction per
// iteration.
class BestCostScheduler : public Scheduler {
 public:
  BestCostScheduler(ClassId root, NodeCostFn cost, size_t min_quota = 64,
                    size_t max_quota = 4096)
      : root_(root),
        cost_(std::move(cost)),
        min_quota_(min_quota),
        max_quota_(max_quota) {}

  Quota Allow(size_t iteration, RuleId rule) override;
  void Observe(const EGraph& graph, std::span<const RuleId> rules,
               std::span<const RuleStats> stats) override;
  // Quotas hold back matches, which the runner knows, and no rules.
  bool MaySaturate(size_t iteration) override { return true; }

  double best_cost() const { return best_cost_; }

 private:
  struct State {
    RuleStats last;
    double gain = 0;   // fading
    double nodes = 1;  // fading
  };

  const ClassId root_;
  const NodeCostFn cost_;
  const size_t min_quota_;
  const size_t max_quota_;
  std::vector<State> states_;
  double best_cost_ = std::numeric_limits<double>::infinity();
  double best_worth_ = 0;
  size_t patience_ = 0;  // iterations in which nothing fell
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_RUN_SCHEDULERS_H_
