#include "encore/cache/session/placement.h"

#include <vector>

#include "encore/backends/placement_text.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {

std::string CanonicalPlacement(const Graph& graph, const Stencil& stencil,
                               std::string_view placement) {
  if (placement.empty()) return "";
  const auto entries = backends::ParsePlacement(placement);
  if (!entries.ok()) return std::string(placement);
  std::vector<std::string> canonical;
  for (const backends::PlacementEntry& entry : *entries) {
    const auto numbers = backends::NodesNamed(graph, stencil, entry.name);
    if (!numbers.has_value()) {
      canonical.emplace_back(entry.text);
      continue;
    }
    for (const uint32_t number : *numbers) {
      canonical.push_back(StrCat(StencilOrigin(number), "=", entry.target));
    }
  }
  return StrJoin(canonical, ",");
}

}  // namespace encore::cache
