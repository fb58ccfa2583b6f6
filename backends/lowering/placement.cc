#include "encore/backends/lowering/placement.h"

#include <string_view>

#include "encore/backends/backends.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {
namespace {

// The nodes that `name` means: an argument, an output's producer, nodes of that
// origin, or #NODE.
std::vector<NodeId> NodesNamed(const Graph& graph, std::string_view name) {
  if (name.starts_with('#')) {
    const std::optional<int64_t> node = ParseInt64(name.substr(1));
    if (!node.has_value() || *node < 0 || *node >= graph.node_count())
      return {};
    return {NodeId(static_cast<uint32_t>(*node))};
  }
  std::vector<NodeId> nodes;
  for (const Graph::Argument& argument : graph.arguments()) {
    if (argument.name == name) nodes.push_back(graph.producer(argument.value));
  }
  for (const Graph::Output& output : graph.outputs()) {
    if (output.name == name) nodes.push_back(graph.producer(output.value));
  }
  for (const NodeId node : Nodes(graph)) {
    if (graph.origin(node) == name) nodes.push_back(node);
  }
  return nodes;
}

StatusOr<int> IndexOf(std::string_view target,
                      std::span<const Backend* const> known,
                      Placement* placement) {
  ENCORE_ASSIGN_OR_RETURN(const Backend* backend, FindBackend(target, known));
  uint32_t ordinal = 0;
  if (const size_t colon = target.find(':'); colon != std::string_view::npos) {
    const std::optional<int64_t> number = ParseInt64(target.substr(colon + 1));
    if (number.has_value() && *number >= 0 && *number < 1024) {
      ordinal = static_cast<uint32_t>(*number);
    }
  }
  for (size_t i = 0; i < placement->backends.size(); ++i) {
    if (placement->backends[i] == backend &&
        placement->ordinals[i] == ordinal) {
      return static_cast<int>(i);
    }
  }
  placement->backends.push_back(backend);
  placement->ordinals.push_back(ordinal);
  return static_cast<int>(placement->backends.size() - 1);
}

}  // namespace

StatusOr<Placement> ResolvePlacement(const Graph& graph, const Stencil& stencil,
                                     const CompileOptions& options,
                                     std::span<const Backend* const> backends) {
  Placement placement;
  ENCORE_RETURN_IF_ERROR(
      IndexOf(options.target, backends, &placement).status());
  if (options.placement.empty()) return placement;
  for (const std::string_view entry : StrSplit(options.placement, ',')) {
    const size_t equals = entry.rfind('=');
    if (equals == std::string_view::npos) {
      return InvalidArgumentError(
          StrCat("placement ", Quote(entry), ": expected NAME=BACKEND"));
    }
    ENCORE_ASSIGN_OR_RETURN(const int index, IndexOf(entry.substr(equals + 1),
                                                     backends, &placement));
    const std::vector<NodeId> nodes =
        NodesNamed(graph, entry.substr(0, equals));
    if (nodes.empty()) {
      return InvalidArgumentError(
          StrCat("placement ", Quote(entry), ": the graph has no such name"));
    }
    for (const NodeId node : nodes) {
      const std::optional<uint32_t> number = stencil.NumberOf(graph, node);
      if (number.has_value()) placement.elsewhere[*number] = index;
    }
  }
  return placement;
}

}  // namespace encore::backends
