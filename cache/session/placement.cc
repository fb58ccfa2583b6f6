#include "encore/cache/session/placement.h"

#include <optional>
#include <vector>

#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace {

// The canonical names of what `name` stands for.
std::vector<std::string> CanonicalNames(const Graph& graph,
                                        const Stencil& stencil,
                                        std::string_view name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < graph.arguments().size(); ++i) {
    if (graph.arguments()[i].name == name) names.push_back(StrCat("a", i));
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    if (graph.outputs()[i].name == name) names.push_back(StrCat("o", i));
  }
  const auto node = StencilNumber(name);
  for (uint32_t i = 0; i < stencil.places.size(); ++i) {
    const Stencil::Place& place = stencil.places[i];
    if (place.graph->origin(place.node) == name ||
        (place.graph == &graph && node == place.node.value())) {
      names.push_back(StencilOrigin(i));
    }
  }
  if (names.empty()) names.emplace_back(name);
  return names;
}

}  // namespace

std::string CanonicalPlacement(const Graph& graph, const Stencil& stencil,
                               std::string_view placement) {
  if (placement.empty()) return "";
  std::vector<std::string> entries;
  for (const std::string_view entry : StrSplit(placement, ',')) {
    const size_t equals = entry.rfind('=');
    if (equals == std::string_view::npos) {
      entries.emplace_back(entry);
      continue;
    }
    for (const std::string& name :
         CanonicalNames(graph, stencil, entry.substr(0, equals))) {
      entries.push_back(name + std::string(entry.substr(equals)));
    }
  }
  return StrJoin(entries, ",");
}

}  // namespace encore::cache
