// Placement: which backend computes each node.
#ifndef ENCORE_BACKENDS_LOWERING_PLACEMENT_H_
#define ENCORE_BACKENDS_LOWERING_PLACEMENT_H_

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/status.h"

namespace encore::backends {

struct Placement {
  // The backends in use; 0 is the default.
  std::vector<const Backend*> backends;
  std::vector<uint32_t> ordinals;  // of their devices
  // Stencil numbers of nodes that are elsewhere -> index in `backends`.
  std::map<uint32_t, int> elsewhere;

  int Of(uint32_t number) const {
    const auto it = elsewhere.find(number);
    return it == elsewhere.end() ? 0 : it->second;
  }
};

// From options.target and options.placement. NotFound for a target that is not
// among `backends` (find_target.h); InvalidArgument for text of another form
// (target_text.h)
// and for names that the graph does not have (placement_text.h).
StatusOr<Placement> ResolvePlacement(const Graph& graph, const Stencil& stencil,
                                     const CompileOptions& options,
                                     std::span<const Backend* const> backends);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_PLACEMENT_H_
