#include "encore/opt/tensor/testing/walk_backward.h"

#include <algorithm>
#include <random>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "encore/ir/support/strings.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/types/dtype.h"
#include "encore/opt/tensor/check/apply_rule.h"
#include "encore/opt/tensor/check/attribute_draws.h"
#include "encore/opt/tensor/check/choices.h"
#include "encore/opt/tensor/rule_book.h"

namespace encore::opt {
namespace {

// Costs are sums in different orders.
constexpr double kSlack = 1e-9;
// Draws of unknown attributes, before another rule is tried.
constexpr int kGuesses = 8;
// Matches of a rule that may lead back.
constexpr size_t kMatchesBack = 6;

Op OpOf(const TextRule& rule, const RuleTerm& term) {
  return term.ranged ? rule.range[0] : term.op;
}

// The terms of sides with all below them.
std::vector<uint32_t> TermsOf(const TextRule& rule,
                              std::span<const RuleSide> sides) {
  std::vector<uint32_t> terms;
  for (const RuleSide& side : sides) terms.push_back(side.term);
  for (size_t i = 0; i < terms.size(); ++i) {
    const auto& operands = rule.terms[terms[i]].operands;
    terms.insert(terms.end(), operands.begin(), operands.end());
  }
  return terms;
}

// Names of tensors ("%x") and attributes that patterns bind.
std::set<std::string> Bound(const TextRule& rule,
                            std::span<const RuleSide> sides) {
  std::set<std::string> names;
  for (const RuleSide& side : sides) names.insert(StrCat("%", side.name));
  for (const uint32_t number : TermsOf(rule, sides)) {
    const RuleTerm& term = rule.terms[number];
    if (!term.variable.empty()) names.insert(StrCat("%", term.variable));
    if (const auto* name = std::get_if<std::string>(&term.attributes)) {
      names.insert(*name);
    }
  }
  return names;
}

bool BindsAll(const std::set<std::string>& bound, const RuleCall& call) {
  return std::ranges::all_of(call.arguments, [&](const RuleArgument& argument) {
    switch (argument.kind) {
      case RuleArgument::Kind::kTensor:
        return bound.contains(StrCat("%", argument.name));
      case RuleArgument::Kind::kAttributes:
        return bound.contains(argument.name);
      case RuleArgument::Kind::kInteger:
      case RuleArgument::Kind::kNumber:
        break;
    }
    return true;
  });
}

// The rule from right to left; nothing where the right side does not bind all
// tensors.
std::optional<BackwardRule> Reversed(const TextRule& rule) {
  BackwardRule backward{.rule = rule, .unknown = {}, .forward = std::nullopt};
  TextRule& reversed = backward.rule;
  reversed.name += "_reversed";
  std::swap(reversed.left, reversed.right);
  bool guessed = false;
  for (const uint32_t number : TermsOf(reversed, reversed.left)) {
    RuleTerm& term = reversed.terms[number];
    if (!std::holds_alternative<RuleCall>(term.attributes)) continue;
    term.attributes = StrCat("computed", number);
    guessed = true;
  }
  const std::set<std::string> bound = Bound(reversed, reversed.left);
  for (const uint32_t number : TermsOf(reversed, reversed.right)) {
    const RuleTerm& term = reversed.terms[number];
    if (!term.variable.empty() && !bound.contains(StrCat("%", term.variable))) {
      return std::nullopt;
    }
    const auto* name = std::get_if<std::string>(&term.attributes);
    if (name != nullptr && !bound.contains(*name)) {
      backward.unknown.emplace(*name, OpOf(reversed, term));
    }
  }
  guessed |= !backward.unknown.empty();
  // What computes attributes from left to right says nothing here.
  guessed |= std::erase_if(reversed.clauses, [&](const RuleClause& clause) {
               return !BindsAll(bound, clause.call) ||
                      (guessed && !clause.results.empty());
             }) > 0;
  if (guessed) backward.forward = rule;
  return backward;
}

// The same of a right side whose last transpose moves nothing, and is not
// there.
std::optional<BackwardRule> WithoutTranspose(TextRule rule) {
  if (rule.right.size() != 1) return std::nullopt;
  const RuleTerm& last = rule.terms[rule.right[0].term];
  if (!last.variable.empty() || last.ranged || last.op != Op::kTranspose) {
    return std::nullopt;
  }
  const TextRule forward = rule;
  rule.right[0].term = last.operands[0];
  std::optional<BackwardRule> backward = Reversed(rule);
  if (backward && backward->unknown.empty()) return std::nullopt;
  if (backward) backward->forward = forward;
  return backward;
}

// What programs that are decomposed do not have.
bool HasComposites(const TextRule& rule) {
  return std::ranges::any_of(rule.terms, [](const RuleTerm& term) {
    return term.variable.empty() && !term.ranged &&
           (term.decomposition || Info(term.op).level == OpLevel::kComposite);
  });
}

bool HasNarrowFloats(const Graph& graph) {
  for (uint32_t v = 0; v < graph.value_count(); ++v) {
    const DType dtype = graph.type(ValueId(v)).dtype;
    if (IsFloat(dtype) && BitWidth(dtype) < 32) return true;
  }
  return false;
}

std::set<Op> OpsOf(const Graph& graph) {
  std::set<Op> ops;
  for (const NodeId node : Nodes(graph)) ops.insert(graph.op(node));
  return ops;
}

// Whether all operators of the left sides are there.
bool MayMatch(const TextRule& rule, const std::set<Op>& ops) {
  return std::ranges::all_of(TermsOf(rule, rule.left), [&](uint32_t number) {
    const RuleTerm& term = rule.terms[number];
    return !term.variable.empty() || ops.contains(OpOf(rule, term));
  });
}

class Walker {
 public:
  Walker(const Graph& good, const std::vector<BackwardRule>& rules,
         const Costs& costs, int most_nodes, uint64_t seed)
      : rules_(rules),
        costs_(costs),
        most_nodes_(most_nodes),
        exact_only_(HasNarrowFloats(good)),
        random_(seed),
        choices_(seed + 1) {
    seen_.insert(Print(good));
  }

  // Whether there was one.
  bool Step(BackwardWalk* walk) {
    const std::set<Op> ops = OpsOf(walk->graph);
    const double cost = costs_.GraphSeconds(walk->graph).value_or(0);
    std::vector<const BackwardRule*> order;
    for (const BackwardRule& rule : rules_) {
      if (exact_only_ && rule.rule.tag != RuleTag::kExact) continue;
      if (MayMatch(rule.rule, ops)) order.push_back(&rule);
    }
    // std::shuffle differs from library to library.
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[random_() % i]);
    }
    for (const BackwardRule* const rule : order) {
      for (int i = 0; i < (rule->unknown.empty() ? 1 : kGuesses); ++i) {
        std::optional<Graph> next = Apply(*rule, walk->graph);
        if (!next || next->node_count() > most_nodes_) continue;
        const auto seconds = costs_.GraphSeconds(*next);
        if (!seconds || *seconds < cost * (1 - kSlack)) continue;
        if (seen_.contains(Print(*next)) ||
            !LeadsBack(*rule, *next, walk->graph)) {
          continue;
        }
        seen_.insert(Print(*next));
        walk->graph = *std::move(next);
        walk->rules.push_back(rule->rule.name);
        return true;
      }
    }
    return false;
  }

 private:
  // One match, drawn.
  std::optional<Graph> Apply(const BackwardRule& backward, const Graph& graph) {
    const size_t draw = random_() % 64;
    const auto rule = WithGuesses(backward, graph);
    if (!rule) return std::nullopt;
    auto applied = ApplyRule(*rule, graph, draw);
    if (applied.ok() && draw >= applied->matches && applied->matches > 0) {
      applied = ApplyRule(*rule, graph, draw % applied->matches);
    }
    // A reversed rule may make a node that inference refuses.
    if (!applied.ok() || !applied->fault.empty()) return std::nullopt;
    return std::move(applied->after);
  }

  std::optional<TextRule> WithGuesses(const BackwardRule& backward,
                                      const Graph& graph) {
    TextRule rule = backward.rule;
    for (const auto& [name, op] : backward.unknown) {
      // Any shape that is there is what the node may give.
      const ValueId like(
          static_cast<uint32_t>(random_() % graph.value_count()));
      AttributeDraws draws(&choices_, {});
      const auto drawn = draws.New({.op = op,
                                    .operands = op == Op::kConcat ? 2u : 1u,
                                    .dtype = graph.type(like).dtype,
                                    .shape = graph.shape(like)});
      if (!drawn) return std::nullopt;
      for (RuleTerm& term : rule.terms) {
        const auto* variable = std::get_if<std::string>(&term.attributes);
        if (variable != nullptr && *variable == name) {
          term.attributes = drawn->attributes;
        }
      }
    }
    return rule;
  }

  // Whether one application makes the graph of before of the one after.
  static bool LeadsBack(const BackwardRule& rule, const Graph& after,
                        const Graph& before) {
    if (!rule.forward) return true;
    const std::string wanted = Print(before);
    size_t matches = 1;
    for (size_t i = 0; i < std::min(matches, kMatchesBack); ++i) {
      const auto applied = ApplyRule(*rule.forward, after, i);
      if (!applied.ok()) return false;
      matches = applied->matches;
      if (applied->after && Print(*applied->after) == wanted) return true;
    }
    return false;
  }

  const std::vector<BackwardRule>& rules_;
  const Costs& costs_;
  const int most_nodes_;
  const bool exact_only_;
  std::mt19937_64 random_;
  Choices choices_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<BackwardRule> BackwardRules(RewriteLevel level) {
  std::vector<BackwardRule> rules;
  for (const TextRule& rule : AllRules()) {
    if (!Allows(level, rule.tag) || HasComposites(rule)) continue;
    std::vector<Op> range = rule.range;
    if (range.empty()) range.push_back(Op::kInput);
    for (const Op op : range) {
      TextRule one = rule;
      if (!rule.range.empty()) one.range = {op};
      rules.push_back({.rule = one, .unknown = {}, .forward = {}});
      for (auto& reversed : {Reversed(one), WithoutTranspose(one)}) {
        if (reversed) rules.push_back(*reversed);
      }
    }
  }
  return rules;
}

BackwardWalk WalkBackward(const Graph& good,
                          const std::vector<BackwardRule>& rules,
                          const Costs& costs, size_t steps, int most_nodes,
                          uint64_t seed) {
  BackwardWalk walk{.graph = good.Clone(), .rules = {}};
  Walker walker(good, rules, costs, most_nodes, seed);
  while (walk.rules.size() < steps && walker.Step(&walk)) {
  }
  return walk;
}

}  // namespace encore::opt
