#include "encore/opt/tensor/saturate.h"

#include <algorithm>
#include <cstdint>

#include "encore/opt/egraph/run/schedulers.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

constexpr int kMostTurns = 3;

// One set of rules and what is left of its budget.
class RuleSet {
 public:
  RuleSet(eg::EGraph* graph, eg::RuleBook* book,
          std::span<const eg::RuleId> rules, const SaturationLimits& limits)
      : graph_(*graph),
        runner_(graph, book,
                {.max_seconds = limits.seconds,
                 .max_iterations = limits.iterations}),
        matches_(limits.matches),
        rules_(rules),
        nodes_(limits.nodes) {}

  eg::StopReason Turn() {
    const size_t before = graph_.num_enodes();
    runner_.set_max_nodes(before + nodes_);
    eg::BackoffScheduler scheduler(matches_);
    const eg::StopReason stop = runner_.Run(rules_, &scheduler);
    const size_t after = graph_.num_enodes();
    if (after > before) nodes_ -= std::min(nodes_, after - before);
    return stop;
  }
  void GiveAtLeast(size_t nodes) { nodes_ = std::max(nodes_, nodes); }
  const eg::Runner& runner() const { return runner_; }

 private:
  const eg::EGraph& graph_;
  eg::Runner runner_;
  const size_t matches_;
  const std::span<const eg::RuleId> rules_;
  size_t nodes_;
};

}  // namespace

Saturation Saturate(eg::EGraph* graph, eg::RuleBook* book,
                    std::span<const eg::RuleId> first,
                    const SaturationLimits& first_limits,
                    std::span<const eg::RuleId> second,
                    const SaturationLimits& second_limits) {
  RuleSet a(graph, book, first, first_limits);
  RuleSet b(graph, book, second, second_limits);
  Saturation result;
  const auto turn = [&](RuleSet& set) {
    const uint64_t version = graph->version();
    const eg::StopReason stop = set.Turn();
    if (&set == &a) result.stop = stop;
    if (stop == eg::StopReason::kFailed) {
      result.stop = stop;
      result.error = set.runner().error();
    }
    return stop != eg::StopReason::kFailed && graph->version() != version;
  };
  turn(a);
  for (int i = 0; i < kMostTurns && !second.empty(); ++i) {
    if (!result.error.ok() || !turn(b)) break;
    a.GiveAtLeast(first_limits.nodes / 4);
    if (!turn(a)) break;
  }
  result.iterations = a.runner().iterations();
  return result;
}

}  // namespace encore::opt
