// Costs of graphs by what lowering makes of them.
#ifndef ENCORE_BACKENDS_LOWERING_GRAPH_COSTS_H_
#define ENCORE_BACKENDS_LOWERING_GRAPH_COSTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "encore/backends/lowering/placement.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/opt/tensor/costs.h"

namespace encore::backends {

// Of a whole graph: the sum of its kernels, as greedy fusion cuts them (CostOf)
// or as the options want them cut (CostAsCompiled), and as the backends
// estimate them, row-major; those of the prepare plan spread over the expected
// calls, bodies once; and what of their results lives at once, outputs and the
// prepare plan aside, of symbols as many as TypicalSizes says. Of a node: by
// rates (RooflineCosts).
//
// `placement` outlives this. Thread-safe.
class GraphCosts : public opt::Costs {
 public:
  GraphCosts(const Placement& placement, const CompileOptions& options)
      : placement_(placement), options_(options), greedy_(options) {
    greedy_.optimizer = Optimizer::kGreedy;
  }

  std::optional<double> NodeSeconds(
      const opt::CostedNode& node) const override {
    return roofline_.NodeSeconds(node);
  }
  std::optional<std::string> NodeIdentity() const override {
    return roofline_.NodeIdentity();
  }
  // REQUIRES origins that are stencil numbers. Costs what fusion does.
  std::optional<opt::GraphCost> CostOf(const Graph& graph) const override {
    return CostOf(graph, greedy_);
  }
  std::optional<opt::GraphCost> CostAsCompiled(
      const Graph& graph) const override {
    return CostOf(graph, options_);
  }
  // The backend.
  uint64_t PlaceOf(std::string_view origin) const override;

 private:
  std::optional<opt::GraphCost> CostOf(const Graph& graph,
                                       const CompileOptions& options) const;

  const Placement& placement_;
  const CompileOptions options_;
  CompileOptions greedy_;
  const opt::RooflineCosts roofline_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_GRAPH_COSTS_H_
