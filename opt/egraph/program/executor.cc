#include "encore/opt/egraph/program/executor.h"

#include <algorithm>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/match/query.h"
#include "encore/opt/egraph/program/rule_lowering.h"

namespace encore::opt::program {
namespace {

egraph::Limits MakeLimits(const ExecutorOptions& options) {
  egraph::Limits limits;
  limits.max_nodes = options.max_nodes;
  limits.max_seconds = options.max_seconds;
  limits.interrupt = options.interrupt;
  return limits;
}

std::string_view Noun(CommandKind kind) {
  switch (kind) {
    case CommandKind::kDeclare:
      return "declaration";
    case CommandKind::kRules:
      return "rule";
    case CommandKind::kAction:
      return "action";
    case CommandKind::kRun:
      return "run";
    case CommandKind::kPush:
      return "push";
    case CommandKind::kPop:
      return "pop";
    case CommandKind::kCheck:
      return "check";
    case CommandKind::kExtract:
      return "extract";
    case CommandKind::kExplain:
      return "explain";
    case CommandKind::kPrintSize:
    case CommandKind::kPrintSizes:
      return "print-size";
    case CommandKind::kPrintStats:
      return "print-stats";
  }
  return "command";
}

}  // namespace

Executor::Executor(const Program& program, const ExecutorOptions& options,
                   Output output)
    : program_(program),
      output_(std::move(output)),
      explain_checks_(options.explanations),
      max_nodes_(options.max_nodes),
      dag_work_(options.dag_work),
      state_(MakeState(program, options)),
      map_(program, &state_.graph.language()),
      runner_(&state_.graph, &state_.rules, MakeLimits(options)) {}

Executor::State Executor::State::Clone() const {
  return {graph.Clone(), rules,  rulesets,         full_matching,
          globals,       unions, num_class_globals};
}

Executor::State Executor::MakeState(const Program& program,
                                    const ExecutorOptions& options) {
  return {egraph::EGraph(
              egraph::Language(),
              {.explanations = options.explanations || program.explains}),
          {},
          std::vector<std::vector<egraph::RuleId>>(program.rulesets.size()),
          {},
          std::vector<egraph::Value>(program.globals.size(), 0),
          {},
          0};
}

std::optional<Finding> Executor::Run() {
  for (const Command& command : program_.commands) {
    const Status status = RunCommand(command);
    if (!state_.graph.rebuilt()) state_.graph.Rebuild();
    const bool must_fail = command.fails % 2 == 1;
    if (status.ok() != must_fail) continue;
    stop_ = "failed";
    const std::string message =
        must_fail ? StrCat("fail: the command in it succeeded")
                  : StrCat(command.fails > 0 ? "fail: " : "",
                           Noun(command.kind), ": ", Message(status));
    return Finding{command.position, message};
  }
  return std::nullopt;
}

Status Executor::RunCommand(const Command& command) {
  switch (command.kind) {
    case CommandKind::kDeclare:
      return map_.DeclareUpTo(command.other, command.index,
                              &state_.graph.language());
    case CommandKind::kRules:
      return AddRules(command);
    case CommandKind::kAction:
      return RunAction(program_.actions[command.index]);
    case CommandKind::kRun:
      return RunSchedule(command.index);
    case CommandKind::kPush:
      return Push(command.count);
    case CommandKind::kPop:
      return Pop(command.count);
    case CommandKind::kCheck:
      return Check(program_.queries[command.index]);
    case CommandKind::kExtract:
      return Extract(command.index);
    case CommandKind::kExplain:
      return Explain(command.index, command.other);
    case CommandKind::kPrintSize:
      output_(StrCat(NumRows(command.index), "\n"));
      return OkStatus();
    case CommandKind::kPrintSizes:
      PrintSizes(program_.table_lists[command.index]);
      return OkStatus();
    case CommandKind::kPrintStats:
      PrintStats();
      return OkStatus();
  }
  return InternalError("unknown command");
}

std::string Executor::RuleName(const Rule& rule) const {
  return rule.name.empty() ? Where(program_, rule.position) : rule.name;
}

Status Executor::AddRules(const Command& command) {
  for (uint64_t r = 0; r < command.count; ++r) {
    const Rule& rule = program_.rules[command.index + r];
    ENCORE_ASSIGN_OR_RETURN(
        egraph::Rule lowered,
        LowerRule(program_, rule, RuleName(rule), map_, state_.globals,
                  &state_.graph.language()));
    state_.rulesets[rule.ruleset].push_back(
        state_.rules.Add(std::move(lowered)));
    state_.full_matching.push_back(NeedsFullMatching(program_, rule.query));
  }
  return OkStatus();
}

Status Executor::RunAction(const Action& action) {
  if (action.kind == ActionKind::kPanic) {
    return FailedPreconditionError(
        StrCat("panic: ", program_.Name(action.message)));
  }
  ENCORE_ASSIGN_OR_RETURN(const egraph::Value left, Evaluate(action.left));
  if (action.kind == ActionKind::kUnion) {
    ENCORE_ASSIGN_OR_RETURN(const egraph::Value right, Evaluate(action.right));
    Unite(egraph::ClassId(left), egraph::ClassId(right));
  } else if (action.kind == ActionKind::kLet) {
    state_.globals[action.variable] = left;
    if (IsClassSort(program_.globals[action.variable].sort)) {
      ++state_.num_class_globals;
      const egraph::Value number = LanguageMap::GlobalNumber(
          action.variable, &state_.graph.language().literals());
      Unite(state_.graph.Add(
                map_.global(program_.globals[action.variable].sort), {number}),
            egraph::ClassId(left));
    }
  }
  return OkStatus();
}

void Executor::Unite(egraph::ClassId a, egraph::ClassId b) {
  state_.graph.Union(a, b);
  if (state_.graph.proofs() != nullptr) state_.unions.emplace_back(a, b);
}

StatusOr<egraph::Value> Executor::Evaluate(ExprId root) {
  const ExprId first = program_.exprs[root].first;
  values_.resize(root - first + 1);
  std::vector<egraph::Value> row;
  for (ExprId e = first; e <= root; ++e) {
    const Expr& expr = program_.exprs[e];
    egraph::Value& value = values_[e - first];
    Arguments(program_, e, &arguments_);
    row.clear();
    for (const ExprId a : arguments_) row.push_back(values_[a - first]);
    switch (expr.kind) {
      case ExprKind::kGlobal:
        value = state_.globals[expr.index];
        break;
      case ExprKind::kTable:
        value = state_.graph.AddWritten(map_.table(expr.index), row).value();
        break;
      case ExprKind::kPrimitive: {
        const egraph::PrimitiveInfo& info = state_.graph.language().primitive(
            map_.primitive(static_cast<Primitive>(expr.index),
                           program_.exprs[e - 1].sort));
        if (!info.function(state_.graph, state_.graph.language().literals(),
                           row, &value)) {
          return FailedPreconditionError(
              StrCat("primitive ", info.name, " is undefined here"));
        }
        break;
      }
      default:
        value = map_.Literal(expr.sort, expr.literal,
                             &state_.graph.language().literals());
    }
  }
  return values_.back();
}

Status Executor::RunSchedule(uint32_t root) {
  struct Frame {
    uint32_t index;
    uint32_t next;  // child to run next
    uint64_t passes_left;
    bool pass_changed = false;
    bool changed = false;
  };
  const auto frame_of = [&](uint32_t index) {
    const Schedule& schedule = program_.schedules[index];
    uint64_t passes = 1;
    if (schedule.kind == ScheduleKind::kSaturate) passes = UINT64_MAX;
    if (schedule.kind == ScheduleKind::kRepeat) passes = schedule.count;
    return Frame{index, index + 1, passes};
  };
  std::vector<Frame> stack = {frame_of(root)};
  if (stack.back().passes_left == 0) return OkStatus();
  while (!stack.empty()) {
    Frame& top = stack.back();
    const uint32_t end = program_.schedules[top.index].end;
    if (top.next == end) {
      top.changed |= top.pass_changed;
      if (top.pass_changed && --top.passes_left > 0) {
        top.next = top.index + 1;
        top.pass_changed = false;
        continue;
      }
      const bool changed = top.changed;
      stack.pop_back();
      if (!stack.empty()) stack.back().pass_changed |= changed;
      continue;
    }
    const uint32_t child = top.next;
    top.next = program_.schedules[child].end;
    if (program_.schedules[child].kind != ScheduleKind::kRun) {
      const Frame frame = frame_of(child);
      if (frame.passes_left > 0) stack.push_back(frame);
      continue;
    }
    bool stopped = false;
    ENCORE_RETURN_IF_ERROR(
        RunRuleset(program_.schedules[child], &top.pass_changed, &stopped));
    if (stopped) return OkStatus();
  }
  return OkStatus();
}

std::vector<egraph::RuleId> Executor::RulesOf(RulesetId ruleset) const {
  std::vector<bool> seen(state_.rulesets.size());
  std::vector<RulesetId> stack = {ruleset};
  std::vector<egraph::RuleId> rules;
  while (!stack.empty()) {
    const RulesetId next = stack.back();
    stack.pop_back();
    if (seen[next]) continue;
    seen[next] = true;
    rules.insert(rules.end(), state_.rulesets[next].begin(),
                 state_.rulesets[next].end());
    const std::vector<RulesetId>& parts = program_.rulesets[next].parts;
    stack.insert(stack.end(), parts.rbegin(), parts.rend());
  }
  return rules;
}

Status Executor::RunRuleset(const Schedule& run, bool* changed, bool* stopped) {
  if (run.until.has_value()) {
    egraph::StopReason stop = egraph::StopReason::kNone;
    const StatusOr<bool> holds = Holds(program_.queries[*run.until], [&] {
      stop = runner_.CheckClock();
      return stop != egraph::StopReason::kNone;
    });
    if (stop != egraph::StopReason::kNone) {
      stop_ = egraph::ToString(stop);
      *stopped = true;
      return OkStatus();
    }
    if (!holds.ok()) return holds.status();
    if (*holds) return OkStatus();
  }
  const std::vector<egraph::RuleId> rules = RulesOf(run.ruleset);
  for (const egraph::RuleId rule : rules) {
    if (state_.full_matching[rule.value()]) state_.rules.set_since(rule, 0);
  }
  const bool limited = max_nodes_ <= SIZE_MAX - state_.num_class_globals;
  if (limited) runner_.set_max_nodes(max_nodes_ + state_.num_class_globals);
  const egraph::StepReport report = runner_.Step(rules);
  *changed |= report.changed;
  if (report.stop == egraph::StopReason::kFailed) return runner_.error();
  if (report.stop != egraph::StopReason::kNone) {
    stop_ = egraph::ToString(report.stop);
    *stopped = true;
  }
  return OkStatus();
}

StatusOr<bool> Executor::Holds(const Query& query,
                               const std::function<bool()>& stop) {
  if (!state_.graph.rebuilt()) state_.graph.Rebuild();
  const std::optional<GroundValues> ground =
      LookUpGroundTerms(program_, query, map_, state_.globals, &state_.graph);
  if (!ground.has_value()) return false;
  ENCORE_ASSIGN_OR_RETURN(const egraph::Rule rule,
                          LowerQuery(program_, query, *ground, map_,
                                     state_.globals, &state_.graph.language()));
  const std::optional<bool> holds = egraph::AnyMatch(&state_.graph, rule, stop);
  if (!holds.has_value()) return CancelledError("interrupted");
  return *holds;
}

Status Executor::Push(uint64_t count) {
  if (count == 0) return OkStatus();
  if (saved_count_ > UINT64_MAX - count) {
    return FailedPreconditionError("too many pushes");
  }
  saved_count_ += count;
  saved_.push_back({state_.Clone(), count});
  return OkStatus();
}

Status Executor::Pop(uint64_t count) {
  if (count > saved_count_) {
    return FailedPreconditionError("more pops than pushes");
  }
  if (count == 0) return OkStatus();
  saved_count_ -= count;
  while (count > saved_.back().count) {
    count -= saved_.back().count;
    saved_.pop_back();
  }
  Snapshot& snapshot = saved_.back();
  snapshot.count -= count;
  peak_bytes_ =
      std::max<uint64_t>(peak_bytes_, state_.graph.peak_memory_bytes());
  costs_.reset();
  if (snapshot.count > 0) {
    state_ = snapshot.state.Clone();
  } else {
    state_ = std::move(snapshot.state);
    saved_.pop_back();
  }
  return OkStatus();
}

Status Executor::Check(const Query& query) {
  const std::atomic<bool>* const interrupt = runner_.limits().interrupt;
  ENCORE_ASSIGN_OR_RETURN(const bool holds, Holds(query, [&] {
                            return interrupt != nullptr && interrupt->load();
                          }));
  if (!holds) return FailedPreconditionError("does not hold");
  if (!explain_checks_) return OkStatus();
  for (const Fact& fact : query.facts) {
    for (size_t i = 1; i < fact.chain.size(); ++i) {
      const ExprId left = fact.chain[i - 1];
      const ExprId right = fact.chain[i];
      if (!IsClassSort(program_.exprs[left].sort) || HasVariables(left) ||
          HasVariables(right)) {
        continue;
      }
      ENCORE_RETURN_IF_ERROR(Explain(left, right));
    }
  }
  return OkStatus();
}

bool Executor::HasVariables(ExprId root) const {
  for (ExprId e = program_.exprs[root].first; e <= root; ++e) {
    if (program_.exprs[e].kind == ExprKind::kVariable) return true;
  }
  return false;
}

uint64_t Executor::NumRows(TableId table) const {
  return state_.graph.num_rows(map_.table(table));
}

bool Executor::SameGlobals(GlobalId a, GlobalId b) const {
  if (!IsClassSort(program_.globals[a].sort))
    return state_.globals[a] == state_.globals[b];
  return state_.graph.Same(egraph::ClassId(state_.globals[a]),
                           egraph::ClassId(state_.globals[b]));
}

ExecutorStats Executor::Stats() const {
  ExecutorStats stats;
  stats.enodes = state_.graph.num_enodes() - state_.num_class_globals;
  stats.classes = state_.graph.num_classes();
  stats.iterations = runner_.iterations();
  stats.seconds = runner_.seconds();
  stats.peak_bytes =
      std::max<uint64_t>(peak_bytes_, state_.graph.peak_memory_bytes());
  stats.stop = stop_;
  return stats;
}

}  // namespace encore::opt::program
