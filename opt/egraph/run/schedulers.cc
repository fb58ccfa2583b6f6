#include "encore/opt/egraph/run/schedulers.h"

#include <algorithm>
#include <cmath>

namespace encore::egraph {

BackoffScheduler::State& BackoffScheduler::StateOf(RuleId rule) {
  if (rule.value() >= states_.size()) states_.resize(rule.value() + 1);
  return states_[rule.value()];
}

Quota BackoffScheduler::Allow(size_t iteration, RuleId rule) {
  const State& state = StateOf(rule);
  if (iteration < state.banned_until) return {.matches = 0};
  return {.matches = match_limit_ << std::min<size_t>(state.bans, 40),
          .all_or_nothing = true};
}

void BackoffScheduler::Held(size_t iteration, RuleId rule) {
  State& state = StateOf(rule);
  state.banned_until =
      iteration + 1 + (ban_length_ << std::min<size_t>(state.bans, 40));
  ++state.bans;
}

bool BackoffScheduler::MaySaturate(size_t iteration) {
  bool banned = false;
  for (State& state : states_) {
    if (state.banned_until <= iteration + 1) continue;
    // Nothing else is left to do: lift the bans.
    state.banned_until = iteration + 1;
    banned = true;
  }
  return !banned;
}

Quota BestCostScheduler::Allow(size_t iteration, RuleId rule) {
  if (rule.value() >= states_.size()) states_.resize(rule.value() + 1);
  const State& state = states_[rule.value()];
  const double worth =
      best_worth_ > 0 ? state.gain / state.nodes / best_worth_ : 0;
  const size_t quota =
      min_quota_ + static_cast<size_t>(worth * (max_quota_ - min_quota_));
  return {.matches = quota << std::min<size_t>(patience_, 40)};
}

void BestCostScheduler::Observe(const EGraph& graph,
                                std::span<const RuleId> rules,
                                std::span<const RuleStats> stats) {
  const double cost = TreeCosts(graph, cost_).cost(root_);
  const double fall =
      std::isfinite(best_cost_) ? std::max(0.0, best_cost_ - cost) : 0;
  patience_ = fall > 0 ? 0 : patience_ + 1;
  best_cost_ = std::min(best_cost_, cost);
  uint64_t unions = 0;
  for (const RuleId rule : rules) {
    unions += stats[rule.value()].unions - states_[rule.value()].last.unions;
  }
  best_worth_ = 0;
  for (const RuleId rule : rules) {
    State& state = states_[rule.value()];
    const RuleStats& now = stats[rule.value()];
    const double share =
        unions == 0 ? 0 : double(now.unions - state.last.unions) / unions;
    state.gain = state.gain / 2 + fall * share;
    state.nodes = state.nodes / 2 + (now.nodes - state.last.nodes) + 1;
    state.last = now;
    best_worth_ = std::max(best_worth_, state.gain / state.nodes);
  }
}

}  // namespace encore::egraph
