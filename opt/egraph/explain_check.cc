#include "encore/opt/egraph/explain_check.h"

#include <optional>

#include "encore/ir/support/strings.h"

namespace encore::egraph {
namespace {

using Id = TermStore::Id;

// Whether both sides of a rule's union are instances under one substitution.
class SideMatcher {
 public:
  SideMatcher(const Language& language, const TermStore& terms,
              const Rule& rule)
      : language_(language),
        terms_(terms),
        rule_(rule),
        bound_(rule.slots.size()) {}

  bool Match(Slot left, Id left_term, Slot right, Id right_term) {
    return MatchSlot(left, left_term) && MatchSlot(right, right_term);
  }

 private:
  // As deep as the rule.
  bool MatchSlot(Slot slot, uint32_t value) {
    std::optional<uint32_t>& bound = bound_[slot.value()];
    const SlotInfo& info = rule_.slots[slot.value()];
    if (bound.has_value()) return *bound == value;
    bound = value;
    if (!language_.has_terms(info.sort)) {
      return !info.constant.has_value() || *info.constant == value;
    }
    for (const Atom& atom : rule_.atoms) {
      if (atom.out == slot) return MatchNode(atom.op, atom.args, value);
    }
    for (const Action& action : rule_.actions) {
      if (action.kind == Action::Kind::kInsert && action.out == slot) {
        return MatchNode(action.op, action.args, value);
      }
    }
    return true;
  }

  bool MatchNode(OpId op, const std::vector<Slot>& args, Id term) {
    const TermStore::Term& node = terms_.term(term);
    if (node.op != op || node.args.size() != args.size()) return false;
    for (size_t i = 0; i < args.size(); ++i) {
      if (!MatchSlot(args[i], node.args[i])) return false;
    }
    return true;
  }

  const Language& language_;
  const TermStore& terms_;
  const Rule& rule_;
  std::vector<std::optional<uint32_t>> bound_;
};

bool IsInstance(const Language& language, const TermStore& terms,
                const Rule& rule, Id left, Id right) {
  for (const Action& action : rule.actions) {
    if (action.kind != Action::Kind::kUnion) continue;
    if (SideMatcher(language, terms, rule)
            .Match(action.args[0], left, action.args[1], right)) {
      return true;
    }
  }
  return false;
}

// The only column in which two terms of one operator differ.
std::optional<size_t> OnlyDifference(const Language& language,
                                     const TermStore::Term& a,
                                     const TermStore::Term& b) {
  if (a.op != b.op) return std::nullopt;
  std::optional<size_t> difference;
  for (size_t i = 0; i < a.args.size(); ++i) {
    if (a.args[i] == b.args[i]) continue;
    if (difference.has_value()) return std::nullopt;
    if (!language.has_terms(language.op(a.op).args[i])) return std::nullopt;
    difference = i;
  }
  return difference;
}

}  // namespace

Status CheckExplanation(const Language& language, const RuleBook& rules,
                        const Explanation& explanation,
                        const std::vector<std::pair<Id, Id>>& given,
                        bool trust_analyses) {
  const TermStore& terms = explanation.terms;
  const auto holds = [&](const ExplainStep& step, Id left, Id right) {
    if (!step.forward) std::swap(left, right);
    switch (step.kind) {
      case ProofStep::Kind::kRule:
        return IsInstance(language, terms, rules.rule(step.rule), left, right);
      case ProofStep::Kind::kGiven:
        for (const auto& [a, b] : given) {
          if ((a == left && b == right) || (a == right && b == left)) {
            return true;
          }
        }
        return false;
      case ProofStep::Kind::kAnalysis:
        return trust_analyses;
      case ProofStep::Kind::kCongruence:
        return false;
    }
    return false;
  };
  Id at = explanation.start;
  for (size_t i = 0; i < explanation.steps.size(); ++i) {
    const ExplainStep& step = explanation.steps[i];
    if (step.from != at) {
      return DataLossError(StrCat("step ", i, " starts at another term"));
    }
    Id from = step.from;
    Id to = step.to;
    while (!holds(step, from, to)) {
      const std::optional<size_t> k =
          OnlyDifference(language, terms.term(from), terms.term(to));
      if (!k.has_value()) {
        return DataLossError(StrCat("step ", i, " is no use of its rule"));
      }
      const Id next_from = terms.term(from).args[*k];
      to = terms.term(to).args[*k];
      from = next_from;
    }
    at = step.to;
  }
  if (at != explanation.end) {
    return DataLossError("the last step leads to another term");
  }
  return OkStatus();
}

}  // namespace encore::egraph
