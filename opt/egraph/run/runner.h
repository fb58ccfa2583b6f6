// Runner: iterations of rules on a graph, within limits.
//
// One iteration of a set of rules: find all their matches in the state at its
// start (only those that are new since each rule last ran), apply all actions,
// restore congruence once. Limits are looked at inside the loops: the node
// limit after each match that is applied, time and the interrupt flag every few
// microseconds. When one is reached, congruence is restored, what was applied
// stays, and rules that were not applied to the end will look at their matches
// again.
#ifndef ENCORE_OPT_EGRAPH_RUN_RUNNER_H_
#define ENCORE_OPT_EGRAPH_RUN_RUNNER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/match/rule.h"

namespace encore::egraph {

struct Limits {
  // Live e-nodes and rows of relations. Where it is set, an iteration also
  // keeps no more than 64 matches for each of them and 2^24 more.
  size_t max_nodes = std::numeric_limits<size_t>::max();
  double max_seconds =
      std::numeric_limits<double>::infinity();                 // of the runner
  size_t max_iterations = std::numeric_limits<size_t>::max();  // per Run
  // A rule with more matches in one iteration applies that many of them, and
  // the rest in later iterations.
  size_t max_matches = std::numeric_limits<size_t>::max();
  const std::atomic<bool>* interrupt = nullptr;  // stops when it becomes true
};

enum class StopReason {
  kNone,  // not stopped
  kSaturated,
  kGoal,
  kIterations,
  kNodes,
  kMatches,  // more than an iteration keeps; those found were applied
  kTime,
  kInterrupted,
  kFailed  // a panic, an undefined primitive in an action, a contradiction
};
std::string_view ToString(StopReason reason);

struct StepReport {
  bool changed = false;                 // a node or a union
  StopReason stop = StopReason::kNone;  // a limit or a failure
  size_t matches = 0;                   // that were applied
};

// What a rule did, over the life of the runner.
struct RuleStats {
  uint64_t matches = 0;
  uint64_t nodes = 0;   // created by its actions
  uint64_t unions = 0;  // of classes that were different
};

// How many new matches of a rule one iteration may apply.
struct Quota {
  size_t matches = std::numeric_limits<size_t>::max();  // 0 = do not look
  // With more matches than that the rule is not applied at all. Otherwise the
  // rest waits for the next iterations, and no new ones are looked for before.
  bool all_or_nothing = false;
};

// Chooses what runs in an iteration; schedulers.h has the ones there are.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  // `iteration` counts from 0 in each Run.
  virtual Quota Allow(size_t iteration, RuleId rule) = 0;
  // The rule had more matches than an all-or-nothing quota and was not applied.
  virtual void Held(size_t iteration, RuleId rule) {}
  // Called after each iteration; `stats` by rule id.
  virtual void Observe(const EGraph& graph, std::span<const RuleId> rules,
                       std::span<const RuleStats> stats) {}
  // Whether an iteration without change is the end: no rule is held back.
  virtual bool MaySaturate(size_t iteration) = 0;
};

class Applier;
class MatchBuffer;
class Trie;

class Runner {
 public:
  // `graph` and `rules` must outlive the runner and may be changed, also
  // replaced where no quota is in use, between its calls. Time runs from
  // construction.
  Runner(EGraph* graph, RuleBook* rules, Limits limits = {});
  ~Runner();

  // One iteration. Rebuilds first where needed.
  StepReport Step(std::span<const RuleId> rules);

  // Iterations until nothing changes, a limit is reached, or `goal` (asked
  // before each iteration and at the end) holds. `scheduler` null: every rule
  // every iteration.
  StopReason Run(std::span<const RuleId> rules, Scheduler* scheduler = nullptr,
                 const std::function<bool(const EGraph&)>& goal = nullptr);

  // Why the last Step or Run failed; OK otherwise.
  const Status& error() const { return error_; }
  size_t iterations() const { return iterations_; }
  double seconds() const;
  const RuleStats& stats(RuleId rule) const { return stats_[rule.value()]; }
  const Limits& limits() const { return limits_; }
  void set_max_nodes(size_t max_nodes) { limits_.max_nodes = max_nodes; }
  // Whether the time is over or the interrupt flag set.
  StopReason CheckClock() const;

 private:
  struct Turn;
  StopReason CheckLimits() const;
  size_t NumRows() const;
  bool TooManyMatches(const std::vector<MatchBuffer>& buffers) const;
  StepReport StepWith(std::span<const RuleId> rules, Scheduler* scheduler,
                      size_t iteration);

  std::vector<Turn> PlanTurns(std::span<const RuleId> rules,
                              Scheduler* scheduler, size_t iteration,
                              std::vector<MatchBuffer>* buffers);
  Applier* ApplierOf(RuleId id);
  StopReason FindMatches(const std::vector<Turn>& turns,
                         std::vector<MatchBuffer>* buffers);
  StopReason ApplyMatches(std::vector<Turn>& turns, Scheduler* scheduler,
                          size_t iteration, std::vector<MatchBuffer>* buffers,
                          StepReport* report);
  StopReason ApplyRule(Turn& turn, MatchBuffer* matches, StepReport* report);
  bool HasBacklog() const;
  static size_t CountInsertions(const std::vector<Turn>& turns,
                                const std::vector<MatchBuffer>& buffers);

  // At most, with those that analyses add; a batch with more may overshoot the
  // node limit.
  static constexpr size_t kNodesPerInsertion = 16;

  EGraph* graph_;
  RuleBook* rules_;
  Limits limits_;
  std::chrono::steady_clock::time_point start_;
  std::vector<OpId> relations_;  // that there were at the start of the step
  std::vector<RuleStats> stats_;
  Status error_;
  size_t iterations_ = 0;
  std::unique_ptr<Trie> trie_;  // empty between steps
  std::vector<std::unique_ptr<Applier>>
      appliers_;  // by rule, of those that ran
  // By rule: matches found and not applied yet; null if there are none.
  std::vector<std::unique_ptr<MatchBuffer>> backlog_;
  // What share of the insertions of the last iteration created a node.
  double created_share_ = 0;
  // A rule worked off its backlog in the last iteration instead of looking.
  bool resumed_ = false;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_RUN_RUNNER_H_
