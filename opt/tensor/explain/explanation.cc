#include "encore/opt/tensor/explain/explanation.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/printer.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/explain/explain_check.h"
#include "encore/opt/egraph/explain/lemmas.h"
#include "encore/opt/tensor/coded/coded_rules.h"
#include "encore/opt/tensor/explain/check_step.h"
#include "encore/opt/tensor/explain/program_terms.h"
#include "encore/opt/tensor/explain/step_sides.h"
#include "encore/opt/tensor/rule_book.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

// Lemmas of kind kStep in the order in which goals come to them, each once,
// with the direction of that use.
std::vector<eg::LemmaUse> StepsInOrder(const eg::Lemmas& lemmas) {
  std::vector<eg::LemmaUse> order, open;
  std::vector<bool> seen(lemmas.lemmas.size());
  const auto push = [&](const std::vector<eg::LemmaUse>& uses, bool reversed) {
    // The stack wants the last first; reversed, uses go from the end.
    for (size_t i = 0; i < uses.size(); ++i) {
      eg::LemmaUse use = uses[reversed ? i : uses.size() - 1 - i];
      use.reversed ^= reversed;
      open.push_back(use);
    }
  };
  for (const eg::LemmaChain& goal : lemmas.goals) {
    push(goal.uses, false);
    while (!open.empty()) {
      const eg::LemmaUse use = open.back();
      open.pop_back();
      if (seen[use.lemma]) continue;
      const eg::Lemma& lemma = lemmas.lemmas[use.lemma];
      const bool waits = std::ranges::any_of(
          lemma.premises, [&](const eg::LemmaChain& premise) {
            return std::ranges::any_of(premise.uses, [&](eg::LemmaUse needed) {
              return !seen[needed.lemma];
            });
          });
      if (waits) {  // what it takes as equal comes first
        open.push_back(use);
        for (const eg::LemmaChain& premise : lemma.premises) {
          push(premise.uses, false);
        }
        continue;
      }
      seen[use.lemma] = true;
      if (lemma.kind == eg::Lemma::Kind::kStep) order.push_back(use);
      for (size_t k = lemma.columns.size(); k-- > 0;) {
        push(lemma.columns[k], use.reversed);
      }
    }
  }
  return order;
}

class Explainer {
 public:
  Explainer(const Extraction& extraction, const ExplainOptions& options)
      : from_(extraction),
        options_(options),
        costs_(options.costs != nullptr ? *options.costs : roofline_) {}

  StatusOr<Explanation> Run() {
    Explanation out;
    out.graph = from_.graph.name();
    out.taken = from_.taken;
    if (!from_.result.feasible) return out;
    const std::vector<eg::NodeId> chosen = Chosen();
    const eg::EGraph& graph = from_.tensors.graph();
    ENCORE_ASSIGN_OR_RETURN(
        lemmas_, eg::ExplainChoice(
                     graph, from_.rules, from_.program.Roots(),
                     [&](eg::ClassId c) { return chosen[c.value()]; },
                     [&](eg::ClassId left, eg::ClassId right) {
                       return from_.tensors.PremisesOf(left, right);
                     }));
    out.lemmas = lemmas_.lemmas.size();
    if (options_.check) {
      out.proof = CheckProof();
    }
    FindPlaces();
    for (const eg::LemmaUse use : StepsInOrder(lemmas_)) {
      ENCORE_ASSIGN_OR_RETURN(ExplainedStep step, StepOf(use));
      out.steps.push_back(std::move(step));
    }
    return out;
  }

 private:
  std::vector<eg::NodeId> Chosen() const {
    std::vector<eg::NodeId> chosen(from_.tensors.graph().node_limit());
    for (uint32_t c = 0; c < from_.result.choice.size(); ++c) {
      const extract::NodeIndex n = from_.result.choice[c];
      if (n == extract::kNoNode) continue;
      chosen[from_.dag.class_of[c].value()] = from_.dag.node_of[n];
    }
    return chosen;
  }

  Status CheckProof() {
    const auto begins = TermsOfGraph(from_, &lemmas_.terms);
    const auto ends = TermsOfChoice(from_, &lemmas_.terms);
    for (size_t i = 0; i < lemmas_.goals.size(); ++i) {
      if (lemmas_.goals[i].from != begins[i]) {
        return DataLossError(StrCat("goal ", i, " begins at another program"));
      }
      if (lemmas_.goals[i].to != ends[i]) {
        return DataLossError(StrCat("goal ", i, " leads to another program"));
      }
    }
    return eg::CheckLemmas(&from_.tensors.graph().language(), from_.rules,
                           lemmas_, {.trust_code = true});
  }

  // By lemma: the graph's node in the class of its left side, or of what uses
  // it.
  void FindPlaces() {
    const eg::EGraph& graph = from_.tensors.graph();
    std::vector<NodeId> own(graph.node_limit());
    for (uint32_t n = from_.program.node_limit(); n-- > 0;) {
      own[graph.Find(eg::ClassId(n)).value()] =
          from_.program.made_of(eg::NodeId(n));
    }
    places_.resize(lemmas_.lemmas.size());
    const auto place = [&](const std::vector<eg::LemmaUse>& uses, NodeId node) {
      for (const eg::LemmaUse use : uses) {
        if (!places_[use.lemma].valid()) places_[use.lemma] = node;
      }
    };
    const std::vector<eg::ClassId> roots = from_.program.Roots();
    for (size_t i = 0; i < roots.size(); ++i) {
      place(lemmas_.goals[i].uses, own[graph.Find(roots[i]).value()]);
    }
    for (size_t i = lemmas_.lemmas.size(); i-- > 0;) {
      const eg::Lemma& lemma = lemmas_.lemmas[i];
      if (!lemma.match.empty()) {
        const eg::ClassId left(lemma.match[lemma.left.value()]);
        const NodeId node = own[graph.Find(left).value()];
        if (node.valid()) places_[i] = node;
      }
      for (const auto& uses : lemma.columns) place(uses, places_[i]);
      for (const auto& premise : lemma.premises)
        place(premise.uses, places_[i]);
    }
  }

  StatusOr<ExplainedStep> StepOf(const eg::LemmaUse& use) {
    const eg::Lemma lemma = lemmas_.lemmas[use.lemma];
    ExplainedStep step;
    step.reversed = use.reversed;
    if (lemma.step.kind != eg::ProofStep::Kind::kRule) {
      return InternalError("a union without a rule");
    }
    step.rule = from_.rules.rule(lemma.step.rule).name;
    step.rule = step.rule.substr(0, step.rule.find('/'));
    step.tag = TagOf(step.rule);
    const NodeId place = places_[use.lemma];
    if (place.valid()) step.place = from_.graph.origin(place);
    const auto sides = SidesOf(from_, lemma, &lemmas_);
    if (!sides.ok()) return Annotate(sides.status(), step.rule);
    const Graph& before = use.reversed ? sides->right : sides->left;
    const Graph& after = use.reversed ? sides->left : sides->right;
    step.before = Text(before);
    step.after = Text(after);
    step.gain = costs_.GraphSeconds(before).value_or(0) -
                costs_.GraphSeconds(after).value_or(0);
    if (options_.check) {
      const auto check =
          CheckStep(from_, lemma, step.tag, options_.seed, &lemmas_);
      step.checked = check.status();
      if (check.ok()) step.compared = check->compared;
    }
    return step;
  }

  RuleTag TagOf(std::string_view name) const {
    if (const CodedRule* const coded = FindCodedRule(name)) return coded->tag;
    for (const std::span<const TextRule> rules :
         {options_.rules, std::span<const TextRule>(AllRules())}) {
      const auto it = std::ranges::find(rules, name, &TextRule::name);
      if (it != rules.end()) return it->tag;
    }
    return RuleTag::kExact;
  }

  static std::string Text(const Graph& graph) {
    PrintOptions options;
    options.parameter_data = false;
    return Print(graph, options);
  }

  const Extraction& from_;
  const ExplainOptions& options_;
  const RooflineCosts roofline_;
  const Costs& costs_;
  eg::Lemmas lemmas_;
  std::vector<NodeId> places_;  // by lemma; invalid where unknown
};

}  // namespace

StatusOr<Explanation> Explain(const Extraction& extraction,
                              const ExplainOptions& options) {
  return Explainer(extraction, options).Run();
}

Status ChoiceExplainer::Extracted(const Extraction& extraction) {
  ENCORE_ASSIGN_OR_RETURN(Explanation explanation,
                          Explain(extraction, options_));
  explanations_.push_back(std::move(explanation));
  return OkStatus();
}

Status FirstFault(std::span<const Explanation> explanations) {
  for (const Explanation& explanation : explanations) {
    if (!explanation.proof.ok()) {
      return Annotate(explanation.proof,
                      StrCat("the proof of ", explanation.graph));
    }
    for (size_t i = 0; i < explanation.steps.size(); ++i) {
      const ExplainedStep& step = explanation.steps[i];
      if (step.checked.ok()) continue;
      return Annotate(step.checked,
                      StrCat("step ", i + 1, " of ", explanation.graph,
                             ", the rule ", step.rule));
    }
  }
  return OkStatus();
}

std::map<std::string, double> GainByRule(
    std::span<const Explanation> explanations) {
  std::map<std::string, double> gains;
  for (const Explanation& explanation : explanations) {
    if (!explanation.taken) continue;
    for (const ExplainedStep& step : explanation.steps) {
      gains[step.rule] += step.gain;
    }
  }
  return gains;
}

std::string ToText(const Explanation& explanation) {
  std::string text = StrCat("graph ", explanation.graph, ": ");
  if (explanation.steps.empty()) return text + "stays as it was\n";
  StrAppend(&text, explanation.steps.size(), " steps",
            explanation.taken ? "" : ", whose result was not taken", "\n");
  for (size_t i = 0; i < explanation.steps.size(); ++i) {
    const ExplainedStep& step = explanation.steps[i];
    StrAppend(&text, "\nstep ", i + 1, ": ", step.rule,
              step.reversed ? ", from right to left" : "", " (", Name(step.tag),
              ")");
    if (!step.place.empty()) StrAppend(&text, " at ", step.place);
    StrAppend(&text, "\nbefore:\n", step.before, "after:\n", step.after);
  }
  return text;
}

}  // namespace encore::opt
