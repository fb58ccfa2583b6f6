// ChoiceKeeper: choices (kept_choices.h) found in, and put into, the store that
// the options of an Improve name.
#ifndef ENCORE_OPT_TENSOR_KEPT_CHOICE_KEEPER_H_
#define ENCORE_OPT_TENSOR_KEPT_CHOICE_KEEPER_H_

#include <optional>
#include <string>
#include <utility>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/opt/tensor/choose_graph.h"
#include "encore/opt/tensor/costs.h"
#include "encore/opt/tensor/improve_options.h"
#include "encore/opt/tensor/kept/choice_store.h"
#include "encore/opt/tensor/kept/kept_choices.h"

namespace encore::opt {

// What is kept of one graph, and added to it. Not thread-safe.
class ChoicesOfGraph {
 public:
  struct Recalled {
    Candidate best;  // as TakeBest gives it
    double own_seconds = 0;
    SaturationFigures figures;
  };

  ChoicesOfGraph(KeptGraph graph, ChoiceStore* store)
      : graph_(std::move(graph)), store_(store) {}

  // The best choice by these terms. Nothing where none are kept, where what is
  // kept is damaged, or where these terms ask for one that is not among them;
  // those that are stay, to be kept beside what is added. `to`: as in
  // KeptGraph::Read.
  StatusOr<std::optional<Recalled>> Recall(const Terms& terms, const Graph& to);

  // `changed`: rules found something.
  void Saturated(double own_seconds, const SaturationFigures& figures,
                 bool changed);
  // A candidate whose graph cannot be kept is left out: whoever asks for it
  // finds it in an e-graph.
  void Add(const ChoiceId& id, const Candidate& candidate);
  // Puts all into the store, where it says something.
  void Keep() const;

 private:
  const KeptGraph graph_;
  ChoiceStore* const store_;
  KeptChoices choices_;
};

class ChoiceKeeper {
 public:
  // Both outlive this.
  ChoiceKeeper(const ImproveOptions& options, const Costs& costs);

  // Nothing where choices from the graph, which outlives them, are not kept
  // (ImproveOptions::kept, KeptGraph::Of).
  std::optional<ChoicesOfGraph> Open(const Graph& graph) const;

 private:
  ChoiceStore* const store_;
  // All that choices depend on beside the graph; nothing: none are kept.
  const std::optional<std::string> identity_;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_KEPT_CHOICE_KEEPER_H_
