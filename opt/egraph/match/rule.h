// Rule: a query and actions over slots, as data; RuleBuilder makes one.
//
// A slot is a variable or a constant of a sort. The query is a set of atoms
// (rows of operators' tables over slots) and guards; it holds for each
// assignment of slots for which every atom is a node and every guard holds.
// Actions then run once per assignment, on the state that may have been changed
// by earlier matches.
//
//   RuleBuilder rule("distribute");              // (* a (+ b c)) =>
//   const Slot a = rule.Variable(expr), b = ..., c = ...;
//   const Slot root = rule.Match(mul, {a, rule.Match(add, {b, c})});
//   rule.Union(root, rule.Insert(add, {rule.Insert(mul, {a, b}),
//                                      rule.Insert(mul, {a, c})}));
//   StatusOr<Rule> done = std::move(rule).Build(language);
//
// A query without actions serves for checks (query.h). Rules as text:
// pattern.h.
#ifndef ENCORE_OPT_EGRAPH_MATCH_RULE_H_
#define ENCORE_OPT_EGRAPH_MATCH_RULE_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/egraph/core/language.h"

namespace encore::egraph {

struct SlotTag {};
using Slot = TypedId<SlotTag>;

// A right-hand side that computes: what it returns is bound to the call's slot;
// nothing = the rest of this match's actions are skipped. It may add nodes and
// union classes.
using ApplyFn =
    std::function<std::optional<Value>(EGraph* graph, std::span<const Value>)>;

struct SlotInfo {
  SortId sort{};
  std::optional<Value> constant{};  // classes are canonicalized when used
  std::string name{};
};

struct Atom {
  OpId op{};
  std::vector<Slot> args{};
  Slot out{};
};

struct Guard {
  enum class Kind {
    kPrimitive,  // defined and true; binds out, or compares with it if bound
    kNotEqual,   // args[0] != args[1]
    kEqual       // args[0] == args[1], binding one from the other
  };
  Kind kind{};
  PrimitiveId primitive{};
  std::vector<Slot> args{};
  Slot out{};  // invalid for conditions
};

struct Action {
  enum class Kind { kInsert, kPrimitive, kUnion, kCall, kPanic };
  Kind kind{};
  OpId op{};
  PrimitiveId primitive{};
  std::vector<Slot> args{};  // kUnion: the two sides
  Slot out{};                // kInsert, kPrimitive, kCall
  ApplyFn call{};
  std::string message{};  // kPanic
};

struct Rule {
  std::string name;
  std::vector<SlotInfo> slots;
  std::vector<Atom> atoms;
  std::vector<Guard> guards;
  std::vector<Action> actions;
};

// A result slot's sort is taken from the language by Build; using slots of
// another rule is undefined.
class RuleBuilder {
 public:
  explicit RuleBuilder(std::string_view name);

  Slot Variable(SortId sort, std::string_view name = "");
  // A literal, or a class (a top-level let) that is canonicalized when used. A
  // union can bring the class old nodes, which do not count as new: who has a
  // class in a query and may unite it runs that rule on everything
  // (RuleBook::set_since(id, 0)).
  Slot Constant(SortId sort, Value value);

  // Query.
  Slot Match(OpId op, std::vector<Slot> args);  // the slot of its class
  void MatchAs(OpId op, std::vector<Slot> args, Slot out);
  void Equal(Slot a, Slot b);
  void NotEqual(Slot a, Slot b);
  // The slot of its result; of Unit for conditions.
  Slot Require(PrimitiveId primitive, std::vector<Slot> args);

  // Actions, in the order of the calls.
  Slot Insert(OpId op, std::vector<Slot> args);
  Slot Compute(PrimitiveId primitive, std::vector<Slot> args);
  void Union(Slot a, Slot b);
  Slot Call(SortId result, ApplyFn call, std::vector<Slot> args);
  void Panic(std::string_view message);

  // InvalidArgument, naming rule and slot, where sorts or arities disagree, a
  // slot that is used is bound by no atom or computable guard, or there are
  // more than kMaxSlots slots, or more than kMaxConditions atoms and guards
  // (planning is cubic in them). Slots made equal are one afterwards.
  StatusOr<Rule> Build(const Language& language) &&;

  static constexpr size_t kMaxSlots = 60000;
  static constexpr size_t kMaxConditions = 250;

 private:
  Slot NewSlot(SortId sort, std::string_view name,
               std::optional<Value> constant = std::nullopt);

  Rule rule_;
};

// Rules with what the engine remembers about them: when each last ran. A rule
// may be run in any ruleset and at any time; it always looks at exactly what is
// new since it last ran to the end. Copy it together with the graph
// (EGraph::Clone), or call Forget.
class RuleBook {
 public:
  RuleId Add(Rule rule);
  size_t size() const { return rules_.size(); }
  const Rule& rule(RuleId id) const { return *rules_[id.value()]; }
  // For who keeps it: copies of the book have the same rules.
  const std::shared_ptr<const Rule>& shared_rule(RuleId id) const {
    return rules_[id.value()];
  }
  // Stamp from which on nodes are new for the rule; 0 = it never ran.
  uint32_t since(RuleId id) const { return since_[id.value()]; }
  void set_since(RuleId id, uint32_t stamp) { since_[id.value()] = stamp; }
  // All rules look at everything again.
  void Forget() { since_.assign(since_.size(), 0); }

 private:
  std::vector<std::shared_ptr<const Rule>> rules_;
  std::vector<uint32_t> since_;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_MATCH_RULE_H_
