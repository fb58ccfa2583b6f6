// KeptChoices: what saturating a graph's e-graph led to, as bytes.
//
// Kept are not the e-graph, which takes longer to read than to make, but the
// choices that were extracted from it: the cheapest one, and where they were
// asked for its neighbours and the cheapest one without what is forbidden
// (ChoiceId of choose_graph.h). They depend
// on the graph, the rules, the limits on work and the seconds of nodes
// (Costs::NodeIdentity), not on what kernels cost: whether one is taken is
// judged anew, by the costs at hand, so that what becomes of the graph is to
// the byte what it becomes without anything kept.
//
//   version; seconds of the graph's own nodes; how saturation went; whether it
//   found anything; count, then per choice which one it is, its cost and
//   bound, and its graph, or none
//
// A graph is the stencil of it as it is (ir/graph/stencil.h), its large
// constants being those of the graph that it was chosen for, and by stencil
// number which of that graph's origins a node has.
#ifndef ENCORE_OPT_TENSOR_KEPT_KEPT_CHOICES_H_
#define ENCORE_OPT_TENSOR_KEPT_KEPT_CHOICES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/status.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/tensor/choose_graph.h"

namespace encore::opt {

// A graph is not worth it below: its e-graph is saturated about as fast as an
// entry is read.
inline constexpr int kLeastKeptNodes = 16;

// How saturation went.
struct SaturationFigures {
  uint64_t nodes = 0;  // of the graph, that rules could look at
  uint64_t enodes = 0, classes = 0, iterations = 0;
  // kNone: there was nothing to do.
  egraph::StopReason stop = egraph::StopReason::kNone;
};

struct KeptChoices {
  // A candidate whose graph is bytes, for KeptGraph::Read; empty: none.
  struct Choice {
    std::optional<double> cost, bound;
    std::string graph;
  };

  double own_seconds = 0;
  SaturationFigures figures = {};
  // Whether rules found anything; where they did not there is no choice.
  bool changed = false;
  std::map<ChoiceId, Choice> choices = {};

  std::string Encode() const;
  // DataLoss for bytes that Encode does not write. Safe on any.
  static StatusOr<KeptChoices> Decode(std::string_view bytes);
};

// A graph whose choices can be kept.
class KeptGraph {
 public:
  // `identity`: all that choices depend on beside the graph. Nothing for a
  // graph of fewer than kLeastKeptNodes nodes, with bodies, which are improved
  // by other costs, or with a custom op without digest. `graph` outlives this.
  static std::optional<KeptGraph> Of(const Graph& graph,
                                     std::string_view identity);

  // What its choices are kept under: equal only for graphs that are equal but
  // for names and weights, whose nodes stand in the same order and share
  // origins alike.
  const std::string& key() const { return key_; }

  // A candidate's graph as bytes; nothing where Read would not give it back as
  // it is.
  std::optional<std::string> Write(const Graph& candidate) const;
  // Its graph again, with names, origins and data of the graph. `to` has the
  // symbols and nothing else. DataLoss for what Write does not give, for a
  // graph that is not well-typed, and for one of another signature.
  StatusOr<Graph> Read(std::string_view bytes, Graph to) const;

 private:
  explicit KeptGraph(const Graph& graph)
      : graph_(graph), stencil_(MakeStencil(graph, StencilOrder::kAsIs)) {}

  const Graph& graph_;
  Stencil stencil_;
  // Origins by number, each once, and their numbers.
  std::vector<std::string> origins_;
  std::map<std::string, size_t, std::less<>> numbers_;
  std::string key_;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_KEPT_KEPT_CHOICES_H_
