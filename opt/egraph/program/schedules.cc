#include "encore/opt/egraph/program/schedules.h"

#include <utility>
#include <vector>

#include "encore/ir/support/strings.h"

namespace encore::opt::program {

uint32_t ScheduleChecker::Push(Schedule schedule) {
  std::vector<Schedule>& schedules = context_.program->schedules;
  const auto index = static_cast<uint32_t>(schedules.size());
  schedule.end = index + 1;
  schedules.push_back(schedule);
  return index;
}

std::optional<RulesetId> ScheduleChecker::FindRuleset(uint32_t i) {
  const Sexpr& node = context_.node(i);
  const NameMeaning meaning =
      node.kind == SexprKind::kSymbol
          ? context_.scope->Find(static_cast<Symbol>(node.payload))
          : NameMeaning{};
  if (meaning.kind == NameKind::kRuleset) return meaning.id;
  context_.Reject(i, StrCat("no ruleset ", context_.Text(i)));
  return std::nullopt;
}

bool ScheduleChecker::ReadUntil(std::span<const uint32_t> elements,
                                size_t first, Schedule* run) {
  const auto options = rules_.ParseOptions(elements, first);
  if (!options.has_value()) return false;
  for (const Option& option : *options) {
    if (context_.Text(option.name) != ":until" || run->until.has_value()) {
      rules_.BadOption(option);
      return false;
    }
    run->until = rules_.CheckQuery(option.values);
    if (!run->until.has_value()) return false;
  }
  return true;
}

std::optional<uint32_t> ScheduleChecker::CheckRun(uint32_t i) {
  const std::vector<uint32_t> elements = context_.Elements(i);
  const auto is_count = [&](size_t e) {
    return e < elements.size() &&
           context_.node(elements[e]).kind == SexprKind::kInteger &&
           static_cast<int64_t>(context_.node(elements[e]).payload) >= 0;
  };
  Schedule run{.kind = ScheduleKind::kRun};
  const size_t count = is_count(1) ? 1 : 2;
  if (!is_count(count)) {
    context_.Reject(i, "usage: (run [RULESET] COUNT [:until FACT*])");
    return std::nullopt;
  }
  if (count == 2) {
    const std::optional<RulesetId> ruleset = FindRuleset(elements[1]);
    if (!ruleset.has_value()) return std::nullopt;
    run.ruleset = *ruleset;
  }
  if (!ReadUntil(elements, count + 1, &run)) return std::nullopt;
  const uint32_t root = Push({.kind = ScheduleKind::kRepeat,
                              .count = context_.node(elements[count]).payload});
  Push(run);
  context_.program->schedules[root].end = root + 2;
  return root;
}

bool ScheduleChecker::CheckRunItem(uint32_t i) {
  const std::vector<uint32_t> elements = context_.Elements(i);
  Schedule run{.kind = ScheduleKind::kRun};
  size_t options = 1;
  if (elements.size() > 1 && !context_.Text(elements[1]).starts_with(':')) {
    const std::optional<RulesetId> ruleset = FindRuleset(elements[1]);
    if (!ruleset.has_value()) return false;
    run.ruleset = *ruleset;
    options = 2;
  }
  if (!ReadUntil(elements, options, &run)) return false;
  Push(run);
  next_ = context_.node(i).end;
  return true;
}

// Begins (saturate ...), (seq ...) or (repeat n ...); its members follow.
bool ScheduleChecker::OpenBlock(uint32_t i) {
  const std::string_view head =
      context_.node(i).end > i + 1 ? context_.Text(i + 1) : "";
  Schedule block{.kind = ScheduleKind::kSequence};
  next_ = i + 2;
  if (head == "saturate") {
    block.kind = ScheduleKind::kSaturate;
  } else if (head == "repeat") {
    const bool has_count = context_.node(i).end > i + 2;
    if (!has_count || context_.node(i + 2).kind != SexprKind::kInteger ||
        static_cast<int64_t>(context_.node(i + 2).payload) < 0) {
      context_.Reject(i, "usage: (repeat COUNT SCHEDULE*)");
      return false;
    }
    block.kind = ScheduleKind::kRepeat;
    block.count = context_.node(i + 2).payload;
    next_ = i + 3;
  } else if (head == "let-scheduler" || head == "run-with" || head == "eval") {
    context_.Unsupported(i, StrCat("schedule ", head));
    return false;
  } else if (head != "seq") {
    context_.Reject(i,
                    "a schedule is a ruleset or (run ...), (saturate ...), "
                    "(seq ...) or (repeat COUNT ...)");
    return false;
  }
  Push(block);
  return true;
}

bool ScheduleChecker::CheckItem(uint32_t i) {
  const Sexpr& node = context_.node(i);
  if (node.kind != SexprKind::kList) {
    const std::optional<RulesetId> ruleset = FindRuleset(i);
    if (!ruleset.has_value()) return false;
    Push({.kind = ScheduleKind::kRun, .ruleset = *ruleset});
    next_ = node.end;
    return true;
  }
  if (node.end > i + 1 && context_.Text(i + 1) == "run") {
    return CheckRunItem(i);
  }
  return OpenBlock(i);
}

std::optional<uint32_t> ScheduleChecker::CheckRunSchedule(uint32_t i) {
  struct Open {
    uint32_t schedule;
    uint32_t end;  // node after the block
  };
  std::vector<Schedule>& schedules = context_.program->schedules;
  const uint32_t root = Push({.kind = ScheduleKind::kSequence});
  std::vector<Open> open = {{root, context_.node(i).end}};
  next_ = i + 2;
  while (!open.empty()) {
    if (next_ == open.back().end) {
      schedules[open.back().schedule].end =
          static_cast<uint32_t>(schedules.size());
      open.pop_back();
      continue;
    }
    const uint32_t item = next_;
    const auto index = static_cast<uint32_t>(schedules.size());
    if (!CheckItem(item)) return std::nullopt;
    if (next_ != context_.node(item).end ||
        schedules[index].kind != ScheduleKind::kRun) {
      open.push_back({index, context_.node(item).end});
    }
  }
  return root;
}

}  // namespace encore::opt::program
