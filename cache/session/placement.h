// Placement in canonical form.
#ifndef ENCORE_CACHE_SESSION_PLACEMENT_H_
#define ENCORE_CACHE_SESSION_PLACEMENT_H_

#include <string>
#include <string_view>

#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/stencil.h"

namespace encore::cache {

// `placement` (options.def) with the names of the canonical graph
// (ir/graph/stencil.h) in place of the caller's: a2, o0, #7. Names that the
// graph does not have stay, so that the compiler can complain of them.
// `stencil` is the graph's.
std::string CanonicalPlacement(const Graph& graph, const Stencil& stencil,
                               std::string_view placement);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_PLACEMENT_H_
