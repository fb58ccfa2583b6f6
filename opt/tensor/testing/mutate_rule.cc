#include "encore/opt/tensor/testing/mutate_rule.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <type_traits>
#include <utility>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/tensor/functions/attribute_function.h"
#include "encore/opt/tensor/functions/attribute_functions.h"

namespace encore::opt {
namespace {

constexpr std::string_view kMistakes[] = {
    "dropped_guard",  "swapped_arguments", "swapped_results", "other_constant",
    "other_function", "swapped_operands",  "other_attributes"};

std::string Text(const RuleArgument& argument) {
  switch (argument.kind) {
    case RuleArgument::Kind::kTensor:
      return StrCat("%", argument.name);
    case RuleArgument::Kind::kAttributes:
      return argument.name;
    case RuleArgument::Kind::kNumber:
      return StrCat(argument.number);
    case RuleArgument::Kind::kInteger:
      break;
  }
  return StrCat(argument.integer);
}

std::string Text(const RuleCall& call) {
  std::string text = StrCat(call.function, "(");
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    StrAppend(&text, i > 0 ? ", " : "", Text(call.arguments[i]));
  }
  return StrCat(text, ")");
}

class Mutator {
 public:
  explicit Mutator(const TextRule& rule) : rule_(rule) {}

  std::vector<RuleMutant> Run() && {
    Clauses();
    for (const RuleSide& side : rule_.left) Constants(side.term);
    for (const RuleSide& side : rule_.right) {
      Constants(side.term);
      Terms(side.term);
    }
    return std::move(mutants_);
  }

 private:
  void Add(Mistake mistake, std::string what,
           const std::function<void(TextRule*)>& change) {
    TextRule rule = rule_;
    change(&rule);
    mutants_.push_back({mistake, std::move(what), std::move(rule)});
  }

  // A call, and where it is in a copy of the rule.
  using CallIn = std::function<RuleCall&(TextRule*)>;

  void Clauses() {
    for (size_t i = 0; i < rule_.clauses.size(); ++i) {
      const RuleClause& clause = rule_.clauses[i];
      if (clause.results.empty()) {
        Add(Mistake::kDroppedGuard, Text(clause.call), [i](TextRule* rule) {
          rule->clauses.erase(rule->clauses.begin() +
                              static_cast<ptrdiff_t>(i));
        });
      }
      for (size_t a = 0; a < clause.results.size(); ++a) {
        for (size_t b = a + 1; b < clause.results.size(); ++b) {
          Add(Mistake::kSwappedResults,
              StrCat(Text(clause.call), ": ", clause.results[a], " and ",
                     clause.results[b], " swapped"),
              [i, a, b](TextRule* rule) {
                std::swap(rule->clauses[i].results[a],
                          rule->clauses[i].results[b]);
              });
        }
      }
      Call(clause.call,
           [i](TextRule* rule) -> RuleCall& { return rule->clauses[i].call; });
    }
  }

  void Call(const RuleCall& call, const CallIn& in) {
    for (size_t a = 0; a < call.arguments.size(); ++a) {
      const RuleArgument& first = call.arguments[a];
      for (size_t b = a + 1; b < call.arguments.size(); ++b) {
        const RuleArgument& second = call.arguments[b];
        if (first.kind != second.kind || Text(first) == Text(second)) continue;
        Add(Mistake::kSwappedArguments,
            StrCat(Text(call), ": ", Text(first), " and ", Text(second),
                   " swapped"),
            [&](TextRule* rule) {
              std::swap(in(rule).arguments[a], in(rule).arguments[b]);
            });
      }
      if (first.kind == RuleArgument::Kind::kNumber) {
        for (const double other :
             {first.number * 1.25, first.number / 2, -first.number}) {
          Add(Mistake::kOtherConstant,
              StrCat(Text(call), ": ", other, " for ", first.number),
              [&](TextRule* rule) { in(rule).arguments[a].number = other; });
        }
      }
      if (first.kind != RuleArgument::Kind::kInteger) continue;
      for (const int64_t other : Others(first.integer)) {
        Add(Mistake::kOtherConstant,
            StrCat(Text(call), ": ", other, " for ", first.integer),
            [&](TextRule* rule) { in(rule).arguments[a].integer = other; });
      }
    }
    OtherFunctions(call, in);
  }

  void OtherFunctions(const RuleCall& call, const CallIn& in) {
    const AttributeFunction* const own = FindAttributeFunction(call.function);
    if (own == nullptr) return;
    for (const AttributeFunction& other : AllAttributeFunctions()) {
      if (other.name == own->name || other.parameters != own->parameters ||
          other.results != own->results) {
        continue;
      }
      Add(Mistake::kOtherFunction,
          StrCat(Text(call), ": ", other.name, " for ", own->name),
          [&](TextRule* rule) { in(rule).function = other.name; });
    }
  }

  static std::vector<int64_t> Others(int64_t integer) {
    std::vector<int64_t> others = {integer + 1, integer - 1};
    if (integer != 0) others.push_back(-integer);
    std::ranges::sort(others);
    const auto repeated = std::ranges::unique(others);
    others.erase(repeated.begin(), repeated.end());
    return others;
  }

  std::vector<uint32_t> TermsBelow(uint32_t root) const {
    std::vector<uint32_t> terms = {root};
    for (size_t i = 0; i < terms.size(); ++i) {
      const auto& operands = rule_.terms[terms[i]].operands;
      terms.insert(terms.end(), operands.begin(), operands.end());
    }
    return terms;
  }

  std::string NameOf(uint32_t term) const {
    const RuleTerm& t = rule_.terms[term];
    if (!t.variable.empty()) return StrCat("%", t.variable);
    return StrCat(t.ranged ? "f" : Mnemonic(t.op), "#", term);
  }

  // Integers among attributes that are given as values.
  void Constants(uint32_t root) {
    for (const uint32_t number : TermsBelow(root)) {
      const auto* const values =
          std::get_if<Attributes>(&rule_.terms[number].attributes);
      if (values == nullptr) continue;
      Attributes changed = *values;
      const auto add = [&](std::string_view field, int64_t& place) {
        const int64_t integer = place;
        for (const int64_t other : Others(integer)) {
          place = other;
          Add(Mistake::kOtherConstant,
              StrCat(NameOf(number), " {", field, "}: ", other, " for ",
                     integer),
              [&](TextRule* rule) {
                rule->terms[number].attributes = changed;
              });
        }
        place = integer;
      };
      VisitFields(changed,
                  [&](std::string_view name, auto& field, const auto&) {
                    using Field = std::decay_t<decltype(field)>;
                    if constexpr (std::is_same_v<Field, int64_t>) {
                      add(name, field);
                    } else if constexpr (std::is_same_v<Field, Ints>) {
                      for (int64_t& place : field) add(name, place);
                    } else if constexpr (std::is_same_v<Field, AxisPairs>) {
                      for (int64_t& place : field.lhs)
                        add(StrCat(name, ".lhs"), place);
                      for (int64_t& place : field.rhs)
                        add(StrCat(name, ".rhs"), place);
                    }
                  });
    }
  }

  // Nodes on the right.
  void Terms(uint32_t root) {
    for (const uint32_t number : TermsBelow(root)) {
      const RuleTerm& term = rule_.terms[number];
      for (size_t a = 0; a < term.operands.size(); ++a) {
        for (size_t b = a + 1; b < term.operands.size(); ++b) {
          const std::string first = NameOf(term.operands[a]);
          const std::string second = NameOf(term.operands[b]);
          if (first == second) continue;
          Add(Mistake::kSwappedOperands,
              StrCat(NameOf(number), ": ", first, " and ", second, " swapped"),
              [&](TextRule* rule) {
                std::swap(rule->terms[number].operands[a],
                          rule->terms[number].operands[b]);
              });
        }
      }
      if (const auto* call = std::get_if<RuleCall>(&term.attributes)) {
        Call(*call, [number](TextRule* rule) -> RuleCall& {
          return std::get<RuleCall>(rule->terms[number].attributes);
        });
      } else if (const auto* name =
                     std::get_if<std::string>(&term.attributes)) {
        for (const std::string& other : AttributeNames()) {
          if (other == *name) continue;
          Add(Mistake::kOtherAttributes,
              StrCat(NameOf(number), ": ", other, " for ", *name),
              [&](TextRule* rule) { rule->terms[number].attributes = other; });
        }
      }
    }
  }

  std::set<std::string> AttributeNames() const {
    std::set<std::string> names;
    for (const RuleTerm& term : rule_.terms) {
      if (const auto* name = std::get_if<std::string>(&term.attributes)) {
        names.insert(*name);
      }
    }
    for (const RuleClause& clause : rule_.clauses) {
      names.insert(clause.results.begin(), clause.results.end());
    }
    return names;
  }

  const TextRule& rule_;
  std::vector<RuleMutant> mutants_;
};

}  // namespace

std::string_view Name(Mistake mistake) {
  return kMistakes[static_cast<size_t>(mistake)];
}

std::vector<RuleMutant> Mutants(const TextRule& rule) {
  return Mutator(rule).Run();
}

}  // namespace encore::opt
