// ScheduleChecker: (run ...) and (run-schedule ...).
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_SCHEDULES_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_SCHEDULES_H_

#include <cstdint>
#include <optional>
#include <span>

#include "encore/opt/egraph/program/ast.h"
#include "encore/opt/egraph/program/expressions.h"
#include "encore/opt/egraph/program/rules.h"

namespace encore::opt::program {

class ScheduleChecker {
 public:
  // Both must outlive this.
  ScheduleChecker(CheckContext* context, RuleChecker* rules)
      : context_(*context), rules_(*rules) {}

  // Each adds the command at node `i` to the program's schedules and returns
  // the index of its root.
  std::optional<uint32_t> CheckRun(uint32_t i);
  std::optional<uint32_t> CheckRunSchedule(uint32_t i);

 private:
  bool CheckItem(uint32_t i);
  bool CheckRunItem(uint32_t i);
  bool OpenBlock(uint32_t i);
  std::optional<RulesetId> FindRuleset(uint32_t i);
  bool ReadUntil(std::span<const uint32_t> elements, size_t first,
                 Schedule* run);
  uint32_t Push(Schedule schedule);

  CheckContext& context_;
  RuleChecker& rules_;
  uint32_t next_ = 0;  // node to look at after the current one
};

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_SCHEDULES_H_
