#include "encore/backends/lowering/placement.h"

#include <optional>
#include <string_view>

#include "encore/backends/find_target.h"
#include "encore/backends/placement_text.h"
#include "encore/backends/target_text.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {
namespace {

StatusOr<int> IndexOf(std::string_view target,
                      std::span<const Backend* const> known,
                      Placement* placement) {
  ENCORE_ASSIGN_OR_RETURN(const FoundTarget found, FindTarget(target, known));
  for (size_t i = 0; i < placement->backends.size(); ++i) {
    if (placement->backends[i] == found.backend &&
        placement->ordinals[i] == found.ordinal) {
      return static_cast<int>(i);
    }
  }
  placement->backends.push_back(found.backend);
  placement->ordinals.push_back(found.ordinal);
  return static_cast<int>(placement->backends.size() - 1);
}

}  // namespace

StatusOr<Placement> ResolvePlacement(const Graph& graph, const Stencil& stencil,
                                     const CompileOptions& options,
                                     std::span<const Backend* const> backends) {
  Placement placement;
  ENCORE_RETURN_IF_ERROR(CheckVariants(options));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<std::string_view> targets,
                          ParseTargets(options.target));
  for (const std::string_view target : targets) {
    ENCORE_RETURN_IF_ERROR(IndexOf(target, backends, &placement).status());
  }
  ENCORE_ASSIGN_OR_RETURN(const std::vector<PlacementEntry> entries,
                          ParsePlacement(options.placement));
  for (const PlacementEntry& entry : entries) {
    ENCORE_ASSIGN_OR_RETURN(const int index,
                            IndexOf(entry.target, backends, &placement));
    const auto numbers = NodesNamed(graph, stencil, entry.name);
    if (!numbers.has_value()) {
      return InvalidArgumentError(StrCat("placement ", Quote(entry.text),
                                         ": the graph has no such name"));
    }
    for (const uint32_t number : *numbers) placement.elsewhere[number] = index;
  }
  for (const Backend* backend : placement.backends) {
    ENCORE_RETURN_IF_ERROR(backend->Check(options));
  }
  return placement;
}

}  // namespace encore::backends
