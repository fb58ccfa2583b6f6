// What a program is turned down for before it runs.
//
// There are two verdicts: rejected (the program is wrong) and unsupported (it
// uses a part of egglog that this subset leaves out on purpose). Checking goes
// on after the first finding, because an unsupported construct anywhere
// outranks an error; the first finding of each kind is kept.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_DIAGNOSTICS_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_DIAGNOSTICS_H_

#include <optional>
#include <string>
#include <string_view>

#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/program/ast.h"

namespace encore::opt::program {

struct Finding {
  Position position;
  std::string message;
};

class Diagnostics {
 public:
  void Reject(Position position, std::string_view message) {
    if (in_fail_) {
      return Unsupported(position, StrCat("(fail ...) around a command that is "
                                          "rejected before it runs: ",
                                          message));
    }
    if (!rejected_.has_value()) {
      rejected_ = Finding{position, std::string(message)};
    }
  }
  void Unsupported(Position position, std::string_view message) {
    if (!unsupported_.has_value()) {
      unsupported_ = Finding{position, std::string(message)};
    }
  }
  // Inside (fail ...), a program that is rejected would have to fail when it
  // runs, which is not supported.
  void set_in_fail(bool in_fail) { in_fail_ = in_fail; }

  const std::optional<Finding>& rejected() const { return rejected_; }
  const std::optional<Finding>& unsupported() const { return unsupported_; }

 private:
  bool in_fail_ = false;
  std::optional<Finding> rejected_;
  std::optional<Finding> unsupported_;
};

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_DIAGNOSTICS_H_
