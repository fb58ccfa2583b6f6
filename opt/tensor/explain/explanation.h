// Explanation: how the graph that Improve chose follows from the one that it
// was given, as applications of rules; recorded only for who asks.
//
//   ChoiceExplainer explainer({.check = true});
//   options.observer = &explainer;
//   ENCORE_ASSIGN_OR_RETURN(const auto improved, Improve(graph, options));
//   for (const Explanation& e : explainer.explanations()) …
//
// The steps are those of the engine's proof (opt/egraph/explain/lemmas.h), in
// the order in which they lead from the graph to the choice, output by output;
// what several uses share is explained where it is used first. A step says that
// two terms are equal; in the terms that use them one may stand for the other.
#ifndef ENCORE_OPT_TENSOR_EXPLAIN_EXPLANATION_H_
#define ENCORE_OPT_TENSOR_EXPLAIN_EXPLANATION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/tensor/costs.h"
#include "encore/opt/tensor/improve_observer.h"
#include "encore/opt/tensor/rule_text.h"

namespace encore::opt {

struct ExplainedStep {
  std::string rule;  // its name in the book
  RuleTag tag = RuleTag::kExact;
  // From what the rule has on its right to what it has on its left.
  bool reversed = false;
  // The origin of the node that is replaced, or of the nearest that uses it.
  std::string place;
  // Graphs as text: the nodes that the step replaces, and those in their place.
  std::string before, after;
  // Seconds less by the costs, of these nodes alone; negative where more. Nodes
  // that others use too count though they may stay.
  double gain = 0;
  // Where it was checked: why it is wrong, and how often both sides were
  // compared, which is never where no sizes were found that fit.
  Status checked;
  int compared = 0;
};

// Of an e-graph: a graph, a body, or a part of a large graph (parts/), which
// stands for all parts that are like it; its places are those of the first.
struct Explanation {
  std::string graph;   // its name; "part" of a part
  bool taken = false;  // whether the choice became a graph
  std::vector<ExplainedStep> steps;
  // What the independent checker says of the engine's proof, where asked.
  Status proof;
  size_t lemmas = 0;
};

struct ExplainOptions {
  // Whether each step is evaluated on random arguments (check_step.h), and the
  // engine's proof checked.
  bool check = false;
  uint64_t seed = 1;
  const Costs* costs = nullptr;  // of gains; null: RooflineCosts
  // Rules that were used beside those of the book, or in place of those of it
  // that have their names. Outlive the call.
  std::span<const TextRule> rules{};
};

// How the extraction's choice follows from its graph. FailedPrecondition where
// the e-graph keeps no reasons; no steps where nothing could be chosen.
StatusOr<Explanation> Explain(const Extraction& extraction,
                              const ExplainOptions& options);

class ChoiceExplainer : public ImproveObserver {
 public:
  explicit ChoiceExplainer(const ExplainOptions& options) : options_(options) {}

  bool wants_reasons() const override { return true; }
  Status Extracted(const Extraction& extraction) override;

  // Bodies first, then the graph, in the order of Improve.
  std::span<const Explanation> explanations() const { return explanations_; }

 private:
  const ExplainOptions options_;
  std::vector<Explanation> explanations_;
};

// The first step or proof that did not hold; OK where all did.
Status FirstFault(std::span<const Explanation> explanations);

// By rule, what its steps gained, of choices that were taken.
std::map<std::string, double> GainByRule(
    std::span<const Explanation> explanations);

// For people: a block of lines per step.
std::string ToText(const Explanation& explanation);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_EXPLAIN_EXPLANATION_H_
