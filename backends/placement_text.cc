#include "encore/backends/placement_text.h"

#include <set>

#include "encore/ir/support/strings.h"

namespace encore::backends {

StatusOr<std::vector<PlacementEntry>> ParsePlacement(std::string_view text) {
  std::vector<PlacementEntry> entries;
  if (text.empty()) return entries;
  for (const std::string_view entry : StrSplit(text, ',')) {
    const size_t equals = entry.rfind('=');
    if (equals == std::string_view::npos) {
      return InvalidArgumentError(
          StrCat("placement ", Quote(entry), ": expected NAME=BACKEND"));
    }
    entries.push_back(
        {entry, entry.substr(0, equals), entry.substr(equals + 1)});
  }
  return entries;
}

std::optional<std::vector<uint32_t>> NodesNamed(const Graph& graph,
                                                const Stencil& stencil,
                                                std::string_view name) {
  if (name.empty()) return std::nullopt;
  bool known = false;
  std::set<uint32_t> numbers;
  const auto add = [&](NodeId node) {
    known = true;
    const std::optional<uint32_t> number = stencil.NumberOf(graph, node);
    if (number.has_value()) numbers.insert(*number);
  };
  for (const Graph::Argument& argument : graph.arguments()) {
    if (argument.name == name) add(graph.producer(argument.value));
  }
  for (const Graph::Output& output : graph.outputs()) {
    if (output.name == name) add(graph.producer(output.value));
  }
  for (const NodeId node : Nodes(graph)) {
    if (graph.origin(node) == name) add(node);
  }
  for (uint32_t i = 0; i < stencil.places.size(); ++i) {
    const Stencil::Place& place = stencil.places[i];
    if (place.graph->origin(place.node) != name) continue;
    known = true;
    numbers.insert(i);
  }
  if (!known) {
    const std::optional<uint32_t> node = StencilNumber(name);
    if (!node || *node >= static_cast<uint32_t>(graph.node_count())) {
      return std::nullopt;
    }
    add(NodeId(*node));
  }
  return std::vector<uint32_t>(numbers.begin(), numbers.end());
}

}  // namespace encore::backends
