// Placement in canonical form.
#ifndef ENCORE_CACHE_SESSION_PLACEMENT_H_
#define ENCORE_CACHE_SESSION_PLACEMENT_H_

#include <string>
#include <string_view>

#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/stencil.h"

namespace encore::cache {

// `placement` (backends/placement_text.h) with the stencil numbers of nodes,
// which are the canonical graph's origins (ir/graph/stencil.h), in place of the
// caller's names: "#7=ref". Names that the graph does not have stay, and so
// does text of another form, so that the compiler can complain of them.
// `stencil` is the graph's.
std::string CanonicalPlacement(const Graph& graph, const Stencil& stencil,
                               std::string_view placement);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_PLACEMENT_H_
