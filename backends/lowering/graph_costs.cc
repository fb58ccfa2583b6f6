#include "encore/backends/lowering/graph_costs.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/lowering/kernels.h"
#include "encore/backends/lowering/scope.h"
#include "encore/backends/lowering/scope_kernel.h"
#include "encore/backends/region/work.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"

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

// The value whose bytes it is.
ValueId Storage(const Graph& graph, ValueId value) {
  while (IsCheckOrView(graph, graph.producer(value))) {
    value = graph.operands(graph.producer(value))[0];
  }
  return value;
}

double BytesOf(const TensorType& type, std::span<const int64_t> sizes) {
  double bytes = BitWidth(type.dtype) / 8.0;
  for (const Dim& dim : type.shape.dims()) {
    bytes *= static_cast<double>(dim.Evaluate(sizes).value_or(0));
  }
  return bytes;
}

// As kernels run in their order; what control flow reads and gives, and bodies,
// live beside it all. Bodies nest at most kMaxBodyDepth deep.
double LiveBytesOf(const Scope& scope, std::span<const int64_t> sizes) {
  const Graph& graph = *scope.graph;
  const size_t end = scope.kernels.size();
  std::vector<size_t> last(graph.value_count());  // kernel that reads it
  for (size_t k = 0; k < end; ++k) {
    for (const ValueId input : scope.kernels[k].built.inputs) {
      last[Storage(graph, input).value()] = k;
    }
  }
  double bodies_bytes = 0;
  for (const auto& [node, bodies] : scope.bodies) {
    for (const ValueId operand : graph.operands(node)) {
      last[Storage(graph, operand).value()] = end;
    }
    double most = 0;
    for (const Scope& body : bodies) {
      most = std::max(most, LiveBytesOf(body, sizes));
    }
    bodies_bytes += most;
  }
  std::vector<bool> is_output(graph.value_count());
  for (const Graph::Output& output : graph.outputs()) {
    is_output[Storage(graph, output.value).value()] = true;
  }
  std::vector<double> freed(end + 1);  // behind a kernel
  double live = 0, most = 0;
  for (size_t k = 0; k < end; ++k) {
    const ScopeKernel& kernel = scope.kernels[k];
    if (kernel.site.prepare) continue;
    for (const ValueId output : kernel.built.outputs) {
      if (is_output[output.value()]) continue;
      const double bytes = BytesOf(graph.type(output), sizes);
      live += bytes;
      freed[std::max(last[output.value()], k)] += bytes;
    }
    most = std::max(most, live);
    live -= freed[k];
  }
  return most + bodies_bytes;
}

}  // namespace

std::optional<opt::GraphCost> GraphCosts::CostOf(
    const Graph& graph, const CompileOptions& options) const {
  KernelTable table(placement_, options, graph.symbols());
  const auto scope = MakeScope(graph, {}, placement_, options, &table);
  if (!scope.ok()) return std::nullopt;
  return opt::GraphCost{
      .seconds = SecondsOf(*scope, table, options),
      .live_bytes = LiveBytesOf(*scope, TypicalSizes(graph.symbols()))};
}

uint64_t GraphCosts::PlaceOf(std::string_view origin) const {
  const auto number = StencilNumber(origin);
  return number ? static_cast<uint64_t>(placement_.Of(*number)) : 0;
}

}  // namespace encore::backends
