#include "encore/backends/lowering/graph_costs.h"

#include "encore/backends/backend.h"
#include "encore/backends/lowering/kernels.h"
#include "encore/backends/lowering/scope.h"
#include "encore/ir/graph/stencil.h"

namespace encore::backends {
namespace {

// Bodies nest at most kMaxBodyDepth deep.
double SecondsOf(const Scope& scope, const KernelTable& table,
                 const CompileOptions& options) {
  double total = 0;
  for (const ScopeKernel& kernel : scope.kernels) {
    const double seconds = table.estimate(kernel.kernel);
    total += kernel.site.prepare ? seconds / CallsPerLoad(options) : seconds;
  }
  for (const auto& [node, bodies] : scope.bodies) {
    for (const Scope& body : bodies) total += SecondsOf(body, table, options);
  }
  return total;
}

}  // namespace

std::optional<double> GraphCosts::GraphSeconds(const Graph& graph) const {
  KernelTable table(placement_, options_, graph.symbols());
  const auto scope = MakeScope(graph, {}, placement_, options_, &table);
  if (!scope.ok()) return std::nullopt;
  return SecondsOf(*scope, table, options_);
}

uint64_t GraphCosts::PlaceOf(std::string_view origin) const {
  const auto number = StencilNumber(origin);
  return number ? static_cast<uint64_t>(placement_.Of(*number)) : 0;
}

}  // namespace encore::backends
