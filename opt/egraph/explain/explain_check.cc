#include "encore/opt/egraph/explain/explain_check.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/core/egraph.h"

namespace encore::egraph {
namespace {

using Id = TermStore::Id;

// What all steps are checked against.
struct Theory {
  Language& language;
  const RuleBook& rules;
  const TermStore& terms;
  const absl::flat_hash_set<std::pair<Id, Id>> unions;
  const absl::flat_hash_map<Value, Id> classes;
  const bool trust_code;
  const EGraph no_graph{};  // for primitives of literals, which ask none
};

// Whether both sides of a rule's union are instances under one substitution.
class Instance {
 public:
  Instance(const Theory& theory, const Rule& rule)
      : theory_(theory),
        language_(theory.language),
        rule_(rule),
        bound_(rule.slots.size()) {}

  // `unite`: the position of the union among the actions.
  bool Match(const ExplainStep& step, size_t unite, Id left, Id right) {
    const std::vector<Slot>& sides = rule_.actions[unite].args;
    return BindLiterals(step.literals) && MatchSlot(sides[0], left) &&
           MatchSlot(sides[1], right) && ConditionsHold(unite);
  }

 private:
  // What the step says of the match's literals, to be compared with the sides.
  bool BindLiterals(const std::vector<Value>& literals) {
    if (!literals.empty() && literals.size() != bound_.size()) return false;
    for (size_t s = 0; s < literals.size(); ++s) {
      if (language_.has_terms(rule_.slots[s].sort)) continue;
      const std::optional<Value> constant = rule_.slots[s].constant;
      if (constant.has_value() && *constant != literals[s]) return false;
      bound_[s] = literals[s];
    }
    return true;
  }

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
      if (action.out != slot) continue;
      if (action.kind == Action::Kind::kCall) return theory_.trust_code;
      return MatchNode(action.op, action.args, value);
    }
    if (!info.constant.has_value()) return true;
    const auto named = theory_.classes.find(*info.constant);
    return named != theory_.classes.end() && named->second == value;
  }

  bool MatchNode(OpId op, const std::vector<Slot>& args, Id term) {
    const TermStore::Term& node = theory_.terms.term(term);
    if (node.op != op || node.args.size() != args.size()) return false;
    for (size_t i = 0; i < args.size(); ++i) {
      if (!MatchSlot(args[i], node.args[i])) return false;
    }
    return true;
  }

  // Those of the query, and what the actions before `end` compute.
  bool ConditionsHold(size_t end) {
    for (const Guard& guard : rule_.guards) {
      switch (guard.kind) {
        case Guard::Kind::kPrimitive:
          if (!Computes(guard.primitive, guard.args, guard.out)) return false;
          break;
        case Guard::Kind::kEqual:
        case Guard::Kind::kNotEqual:
          if (language_.has_terms(SortOf(guard.args[0]))) break;
          if ((Literal(guard.args[0]) == Literal(guard.args[1])) !=
              (guard.kind == Guard::Kind::kEqual)) {
            return false;
          }
      }
    }
    return std::all_of(rule_.actions.begin(), rule_.actions.begin() + end,
                       [&](const Action& action) {
                         return action.kind != Action::Kind::kPrimitive ||
                                Computes(action.primitive, action.args,
                                         action.out);
                       });
  }

  SortId SortOf(Slot slot) const { return rule_.slots[slot.value()].sort; }

  std::optional<Value> Literal(Slot slot) const {
    return bound_[slot.value()].has_value()
               ? bound_[slot.value()]
               : rule_.slots[slot.value()].constant;
  }

  // Whether the primitive is defined and gives what `out` is, if it is valid;
  // true where it asks for classes.
  bool Computes(PrimitiveId id, const std::vector<Slot>& args, Slot out) {
    const PrimitiveInfo& info = language_.primitive(id);
    if (language_.has_terms(info.result)) return true;
    std::vector<Value> values;
    for (const Slot slot : args) {
      if (language_.has_terms(SortOf(slot))) return true;
      const std::optional<Value> value = Literal(slot);
      if (!value.has_value() || *value == kNoValue) return false;
      values.push_back(*value);
    }
    Value result = kNoValue;
    if (!info.function(theory_.no_graph, language_.literals(), values,
                       &result)) {
      return false;
    }
    return !out.valid() || info.result == kUnitSort || Literal(out) == result;
  }

  const Theory& theory_;
  Language& language_;
  const Rule& rule_;
  std::vector<std::optional<uint32_t>> bound_;
};

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

bool IsInstance(const Theory& theory, const ExplainStep& step, Id left,
                Id right) {
  const Rule& rule = theory.rules.rule(step.rule);
  for (size_t i = 0; i < rule.actions.size(); ++i) {
    if (rule.actions[i].kind != Action::Kind::kUnion) continue;
    if (Instance(theory, rule).Match(step, i, left, right)) return true;
  }
  return false;
}

// Whether the step turns `left` into `right` as wholes.
bool HoldsAtRoot(const Theory& theory, const ExplainStep& step, Id left,
                 Id right) {
  if (!step.forward) std::swap(left, right);
  switch (step.kind) {
    case ProofStep::Kind::kRule:
      return IsInstance(theory, step, left, right);
    case ProofStep::Kind::kGiven:
      return theory.unions.contains({left, right}) ||
             theory.unions.contains({right, left});
    case ProofStep::Kind::kAnalysis:
      return theory.trust_code;
    case ProofStep::Kind::kCongruence:
      return false;
  }
  return false;
}

bool Holds(const Theory& theory, const ExplainStep& step) {
  Id from = step.from, to = step.to;
  while (!HoldsAtRoot(theory, step, from, to)) {
    const TermStore::Term& a = theory.terms.term(from);
    const TermStore::Term& b = theory.terms.term(to);
    const std::optional<size_t> k = OnlyDifference(theory.language, a, b);
    if (!k.has_value()) return false;
    from = a.args[*k];
    to = b.args[*k];
  }
  return true;
}

// Lemmas, each by those before it.
class LemmaChecker {
 public:
  LemmaChecker(const Theory& theory, const Lemmas& lemmas)
      : theory_(theory), lemmas_(lemmas) {}

  Status Run() const {
    for (size_t i = 0; i < lemmas_.lemmas.size(); ++i) {
      if (Status status = Check(i); !status.ok()) return status;
    }
    for (const LemmaChain& goal : lemmas_.goals) {
      if (!Leads(goal, lemmas_.lemmas.size())) {
        return DataLossError("a goal's lemmas do not lead from term to term");
      }
    }
    return OkStatus();
  }

 private:
  // Whether uses of lemmas below `end` lead from one term to the other.
  bool Leads(const LemmaChain& chain, size_t end) const {
    Id at = chain.from;
    for (const LemmaUse& use : chain.uses) {
      if (use.lemma >= end) return false;
      const Lemma& lemma = lemmas_.lemmas[use.lemma];
      if (at != (use.reversed ? lemma.to : lemma.from)) return false;
      at = use.reversed ? lemma.from : lemma.to;
    }
    return at == chain.to;
  }

  Status Check(size_t i) const {
    const Lemma& lemma = lemmas_.lemmas[i];
    switch (lemma.kind) {
      case Lemma::Kind::kStep:
        if (lemma.step.from != lemma.from || lemma.step.to != lemma.to ||
            !HoldsAtRoot(theory_, lemma.step, lemma.from, lemma.to)) {
          return DataLossError(StrCat("lemma ", i, " is no use of its rule"));
        }
        for (const LemmaChain& premise : lemma.premises) {
          if (Leads(premise, i)) continue;
          return DataLossError(StrCat("lemma ", i, " lacks a premise"));
        }
        return OkStatus();
      case Lemma::Kind::kChain:
        if (lemma.columns.size() != 1 ||
            !Leads({lemma.from, lemma.to, lemma.columns[0]}, i)) {
          return DataLossError(StrCat("lemma ", i, " leads elsewhere"));
        }
        return OkStatus();
      case Lemma::Kind::kCongruence:
        if (!IsCongruence(lemma, i)) {
          return DataLossError(StrCat("lemma ", i, " has other columns"));
        }
        return OkStatus();
    }
    return OkStatus();
  }

  bool IsCongruence(const Lemma& lemma, size_t i) const {
    const TermStore::Term& a = theory_.terms.term(lemma.from);
    const TermStore::Term& b = theory_.terms.term(lemma.to);
    if (a.op != b.op || lemma.columns.size() != a.args.size()) return false;
    for (size_t k = 0; k < a.args.size(); ++k) {
      if (a.args[k] == b.args[k]) continue;
      if (!theory_.language.has_terms(theory_.language.op(a.op).args[k]) ||
          !Leads({a.args[k], b.args[k], lemma.columns[k]}, i)) {
        return false;
      }
    }
    return true;
  }

  const Theory& theory_;
  const Lemmas& lemmas_;
};

}  // namespace

Status CheckLemmas(Language* language, const RuleBook& rules,
                   const Lemmas& lemmas, const Axioms& axioms) {
  const Theory theory{*language,
                      rules,
                      lemmas.terms,
                      {axioms.unions.begin(), axioms.unions.end()},
                      {axioms.classes.begin(), axioms.classes.end()},
                      axioms.trust_code};
  return LemmaChecker(theory, lemmas).Run();
}

Status CheckExplanation(Language* language, const RuleBook& rules,
                        const Explanation& explanation, const Axioms& axioms) {
  const Theory theory{*language,
                      rules,
                      explanation.terms,
                      {axioms.unions.begin(), axioms.unions.end()},
                      {axioms.classes.begin(), axioms.classes.end()},
                      axioms.trust_code};
  Id at = explanation.start;
  for (size_t i = 0; i < explanation.steps.size(); ++i) {
    const ExplainStep& step = explanation.steps[i];
    if (step.from != at) {
      return DataLossError(StrCat("step ", i, " starts at another term"));
    }
    if (!Holds(theory, step)) {
      return DataLossError(StrCat("step ", i, " is no use of its rule"));
    }
    at = step.to;
  }
  if (at != explanation.end) {
    return DataLossError("the last step leads to another term");
  }
  return OkStatus();
}

}  // namespace encore::egraph
