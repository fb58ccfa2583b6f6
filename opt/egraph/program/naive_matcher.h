// NaiveMatcher: the matching of NaiveInterpreter. All environments that satisfy
// a query, found by extending a list of partial environments one condition at a
// time, with every row tried for every atom.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_NAIVE_MATCHER_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_NAIVE_MATCHER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "encore/opt/egraph/program/ast.h"

namespace encore::opt::program {

class NaiveMatcher {
 public:
  using Row = std::vector<uint64_t>;
  using Tables = std::vector<std::map<Row, uint64_t>>;  // by table
  // By slot, those of a query's variables first: the value, where it is known.
  using Values = std::vector<std::optional<uint64_t>>;

  // `tables` has canonical values only; `global` gives the canonical value of a
  // global. All are used as long as this is.
  NaiveMatcher(const Program& program, const Tables& tables,
               std::function<uint64_t(GlobalId)> global, size_t max_rows)
      : program_(program),
        tables_(tables),
        global_(std::move(global)),
        max_rows_(max_rows) {}

  // The environments that satisfy the query; nothing where there are more than
  // about `max_rows` on the way.
  std::optional<std::vector<Values>> Match(const Query& query) const;

 private:
  // A query as conditions on slots: slot v < num variables is variable v, slot
  // num variables + k is expression base + k.
  struct Condition {
    enum class Kind { kTable, kPrimitive, kEqual, kConstant } kind;
    ExprId expr = 0;
    std::vector<size_t> arguments = {};
    size_t out = 0;
    uint64_t constant = 0;
  };

  std::vector<Condition> Conditions(const Query& query, ExprId base) const;
  static bool Ready(const Condition& condition, const Values& known);
  std::optional<std::vector<Values>> Extend(
      const Condition& condition,
      const std::vector<Values>& environments) const;

  const Program& program_;
  const Tables& tables_;
  std::function<uint64_t(GlobalId)> global_;
  const size_t max_rows_;
};

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_NAIVE_MATCHER_H_
