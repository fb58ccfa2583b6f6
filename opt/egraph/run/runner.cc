#include "encore/opt/egraph/run/runner.h"

#include <algorithm>
#include <utility>

#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/match/applier.h"
#include "encore/opt/egraph/match/match_buffer.h"
#include "encore/opt/egraph/match/matcher.h"
#include "encore/opt/egraph/match/trie.h"

namespace encore::egraph {
std::string_view ToString(StopReason reason) {
  switch (reason) {
    case StopReason::kNone:
      return "none";
    case StopReason::kSaturated:
      return "saturated";
    case StopReason::kGoal:
      return "goal";
    case StopReason::kIterations:
      return "iterations";
    case StopReason::kNodes:
      return "nodes";
    case StopReason::kMatches:
      return "matches";
    case StopReason::kTime:
      return "time";
    case StopReason::kInterrupted:
      return "interrupted";
    case StopReason::kFailed:
      return "failed";
  }
  return "unknown";
}

Runner::Runner(EGraph* graph, RuleBook* rules, Limits limits)
    : graph_(graph),
      rules_(rules),
      limits_(limits),
      start_(std::chrono::steady_clock::now()),
      trie_(std::make_unique<Trie>()) {}

Runner::~Runner() = default;

double Runner::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                       start_)
      .count();
}

StopReason Runner::CheckClock() const {
  if (limits_.interrupt != nullptr &&
      limits_.interrupt->load(std::memory_order_relaxed)) {
    return StopReason::kInterrupted;
  }
  if (limits_.max_seconds < std::numeric_limits<double>::infinity() &&
      seconds() > limits_.max_seconds) {
    return StopReason::kTime;
  }
  return StopReason::kNone;
}

StopReason Runner::CheckLimits() const {
  if (NumRows() > limits_.max_nodes) return StopReason::kNodes;
  return CheckClock();
}

size_t Runner::NumRows() const {
  size_t rows = graph_->num_enodes();
  for (const OpId op : relations_) rows += graph_->num_rows(op);
  return rows;
}

// Applying more would mostly reach the limit on nodes, and they would take all
// the memory before.
bool Runner::TooManyMatches(const std::vector<MatchBuffer>& buffers) const {
  constexpr size_t kMatchesPerNode = 64, kMatches = size_t{1} << 24;
  if (limits_.max_nodes >= (SIZE_MAX - kMatches) / kMatchesPerNode) {
    return false;
  }
  size_t matches = 0;
  for (const MatchBuffer& buffer : buffers) matches += buffer.count();
  return matches > limits_.max_nodes * kMatchesPerNode + kMatches;
}

// One rule's part in one iteration.
struct Runner::Turn {
  RuleId rule;
  Quota quota;
  Applier* applier;
  uint32_t buffer;  // kBacklog: the matches are there
  static constexpr uint32_t kBacklog = 0xFFFFFFFFu;
};

StepReport Runner::Step(std::span<const RuleId> rules) {
  return StepWith(rules, nullptr, iterations_);
}

StepReport Runner::StepWith(std::span<const RuleId> rules, Scheduler* scheduler,
                            size_t iteration) {
  StepReport report;
  stats_.resize(rules_->size());
  backlog_.resize(rules_->size());
  appliers_.resize(rules_->size());
  error_ = OkStatus();
  if (!graph_->rebuilt()) graph_->Rebuild();
  graph_->SyncOps();
  relations_.clear();
  for (uint32_t op = 0; op < graph_->language().num_ops(); ++op) {
    if (graph_->language().is_relation(OpId(op))) {
      relations_.push_back(OpId(op));
    }
  }
  // The loops below look every so often, which a small step never reaches.
  report.stop = CheckLimits();
  if (report.stop != StopReason::kNone) return report;
  const uint64_t version = graph_->version();
  std::vector<MatchBuffer> buffers;
  std::vector<Turn> turns = PlanTurns(rules, scheduler, iteration, &buffers);
  report.stop = FindMatches(turns, &buffers);
  if (report.stop == StopReason::kNone) {
    report.stop = ApplyMatches(turns, scheduler, iteration, &buffers, &report);
  } else if (report.stop == StopReason::kMatches) {
    // They were found in no order of rules, and some rules' are missing: none
    // is done with its matches.
    for (Turn& turn : turns) {
      if (turn.buffer == Turn::kBacklog || buffers[turn.buffer].overflow()) {
        continue;
      }
      const StopReason stop = ApplyRule(turn, &buffers[turn.buffer], &report);
      if (stop != StopReason::kNone) {
        report.stop = stop;
        break;
      }
    }
  }
  graph_->Rebuild();
  ++iterations_;
  if (report.stop != StopReason::kFailed && !graph_->error().ok()) {
    error_ = graph_->error();
    report.stop = StopReason::kFailed;
  }
  report.changed = graph_->version() != version;
  return report;
}

std::vector<Runner::Turn> Runner::PlanTurns(std::span<const RuleId> rules,
                                            Scheduler* scheduler,
                                            size_t iteration,
                                            std::vector<MatchBuffer>* buffers) {
  std::vector<Turn> turns;
  turns.reserve(rules.size());
  buffers->reserve(rules.size());
  resumed_ = false;
  std::vector<bool> seen(rules_->size(), false);
  for (const RuleId id : rules) {
    if (seen[id.value()]) continue;
    seen[id.value()] = true;
    Quota quota;
    if (scheduler != nullptr) quota = scheduler->Allow(iteration, id);
    quota.matches = std::min(quota.matches, limits_.max_matches);
    if (quota.matches == 0) continue;
    Applier* const applier = ApplierOf(id);
    if (backlog_[id.value()] != nullptr) {
      resumed_ = true;
      turns.push_back({id, quota, applier, Turn::kBacklog});
      continue;
    }
    const uint32_t buffer = buffers->size();
    buffers->emplace_back(
        applier->wanted().size() +
            (applier->with_nodes() ? rules_->rule(id).atoms.size() : 0),
        quota.all_or_nothing ? quota.matches
                             : std::numeric_limits<size_t>::max(),
        graph_->pool());
    turns.push_back({id, quota, applier, buffer});
  }
  return turns;
}

// Compiled when the rule first runs.
Applier* Runner::ApplierOf(RuleId id) {
  std::unique_ptr<Applier>& applier = appliers_[id.value()];
  const std::shared_ptr<const Rule>& rule = rules_->shared_rule(id);
  const bool with_nodes = graph_->proofs() != nullptr;
  if (applier == nullptr || applier->rule() != rule ||
      applier->with_nodes() != with_nodes) {
    applier = std::make_unique<Applier>(*graph_, rule, id);
  } else {
    applier->ReadConstants(*graph_);
  }
  return applier.get();
}

StopReason Runner::FindMatches(const std::vector<Turn>& turns,
                               std::vector<MatchBuffer>* buffers) {
  trie_->Clear();
  for (const Turn& turn : turns) {
    if (turn.buffer == Turn::kBacklog) continue;
    trie_->Add(*graph_, rules_->rule(turn.rule), rules_->since(turn.rule),
               turn.buffer, turn.applier->wanted(), turn.applier->with_nodes());
  }
  StopReason stop = StopReason::kNone;
  Matcher(graph_, trie_.get(), buffers, [&] {
    stop = TooManyMatches(*buffers) ? StopReason::kMatches : CheckClock();
    return stop != StopReason::kNone;
  }).Run();
  return stop;
}

StopReason Runner::ApplyMatches(std::vector<Turn>& turns, Scheduler* scheduler,
                                size_t iteration,
                                std::vector<MatchBuffer>* buffers,
                                StepReport* report) {
  const uint32_t since = graph_->store().stamp() + 1;
  graph_->NextStamp();
  const size_t insertions = CountInsertions(turns, *buffers);
  const size_t rows = graph_->node_limit();
  // Iterations resemble each other.
  graph_->Expect(std::min<double>(insertions * created_share_,
                                  limits_.max_nodes - graph_->num_enodes()));
  for (Turn& turn : turns) {
    std::unique_ptr<MatchBuffer>& backlog = backlog_[turn.rule.value()];
    const bool resumed = turn.buffer == Turn::kBacklog;
    MatchBuffer* const matches =
        resumed ? backlog.get() : &(*buffers)[turn.buffer];
    if (matches->overflow()) {
      scheduler->Held(iteration, turn.rule);
      matches->Free();
      continue;
    }
    const StopReason stop = ApplyRule(turn, matches, report);
    if (stop != StopReason::kNone) return stop;
    if (!resumed) rules_->set_since(turn.rule, since);
    if (matches->applied() == matches->count()) {
      matches->Free();
      backlog.reset();
    } else if (!resumed) {
      backlog = std::make_unique<MatchBuffer>(std::move(*matches));
    }
  }
  created_share_ = double(graph_->node_limit() - rows) / (insertions + 1);
  return StopReason::kNone;
}

// Of the matches that were found in this iteration.
size_t Runner::CountInsertions(const std::vector<Turn>& turns,
                               const std::vector<MatchBuffer>& buffers) {
  size_t insertions = 0;
  for (const Turn& turn : turns) {
    if (turn.buffer == Turn::kBacklog || buffers[turn.buffer].overflow())
      continue;
    insertions += std::min(turn.quota.matches, buffers[turn.buffer].count()) *
                  turn.applier->num_insertions();
  }
  return insertions;
}

bool Runner::HasBacklog() const {
  return std::any_of(backlog_.begin(), backlog_.end(),
                     [](const auto& matches) { return matches != nullptr; });
}

StopReason Runner::ApplyRule(Turn& turn, MatchBuffer* matches,
                             StepReport* report) {
  RuleStats& stats = stats_[turn.rule.value()];
  const size_t nodes_before = graph_->num_enodes();
  StopReason stop = StopReason::kNone;
  Applier& applier = *turn.applier;
  const size_t first = matches->applied();
  const size_t end =
      first + std::min(turn.quota.matches, matches->count() - first);
  size_t applied = first;
  while (applied < end && stop == StopReason::kNone) {
    const size_t batch =
        std::min(MatchBuffer::RoomInBlock(applied), end - applied);
    // No batch may step over the limit.
    const size_t growth = batch * applier.num_insertions() *
                          (graph_->has_analyses() ? kNodesPerInsertion : 1);
    const bool far =
        growth <= limits_.max_nodes && NumRows() <= limits_.max_nodes - growth;
    if (applier.batchable() && far) {
      stats.unions += applier.ApplyBatch(graph_, *matches, applied, batch);
      applied += batch;
      matches->set_applied(applied);
      stop = CheckLimits();
      continue;
    }
    const Applier::Outcome outcome = applier.Apply(graph_, *matches, applied);
    ++applied;
    stats.unions += outcome.unions;
    if (!outcome.status.ok()) {
      error_ = outcome.status;
      stop = StopReason::kFailed;
    } else {
      stop = CheckLimits();
    }
  }
  matches->set_applied(applied);
  applied -= first;
  stats.matches += applied;
  stats.nodes += std::max(graph_->num_enodes(), nodes_before) - nodes_before;
  report->matches += applied;
  return stop;
}

StopReason Runner::Run(std::span<const RuleId> rules, Scheduler* scheduler,
                       const std::function<bool(const EGraph&)>& goal) {
  if (!graph_->rebuilt()) graph_->Rebuild();
  for (size_t iteration = 0;; ++iteration) {
    if (goal && goal(*graph_)) return StopReason::kGoal;
    if (iteration >= limits_.max_iterations) return StopReason::kIterations;
    if (const StopReason stop = CheckLimits(); stop != StopReason::kNone) {
      return stop;
    }
    const StepReport report = StepWith(rules, scheduler, iteration);
    if (report.stop != StopReason::kNone) {
      const bool reached = report.stop != StopReason::kFailed && goal;
      return reached && goal(*graph_) ? StopReason::kGoal : report.stop;
    }
    if (scheduler != nullptr) scheduler->Observe(*graph_, rules, stats_);
    if (!report.changed && !resumed_ && !HasBacklog() &&
        (scheduler == nullptr || scheduler->MaySaturate(iteration))) {
      return StopReason::kSaturated;
    }
  }
}

}  // namespace encore::egraph
