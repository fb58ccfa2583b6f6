// The text of the option `placement`: what its entries are, and which nodes the
// names in it mean.
#ifndef ENCORE_BACKENDS_PLACEMENT_TEXT_H_
#define ENCORE_BACKENDS_PLACEMENT_TEXT_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/status.h"

namespace encore::backends {

struct PlacementEntry {
  std::string_view text;    // the whole entry, for messages
  std::string_view name;    // a name may hold '=': up to the last one
  std::string_view target;  // find_target.h
};

// The entries of "NAME=TARGET,…", in order; none for "". They point into
// `text`. InvalidArgument names an entry of another form.
StatusOr<std::vector<PlacementEntry>> ParsePlacement(std::string_view text);

// The stencil numbers, ascending, of the nodes that `name` means: arguments and
// producers of outputs of that name, and nodes of that origin, those of bodies
// too; where there is none, "#12" is node 12 of `graph`. Nothing where the
// graph has no such name, as none has ""; empty where nothing that counts has
// it. REQUIRES the stencil of `graph`.
std::optional<std::vector<uint32_t>> NodesNamed(const Graph& graph,
                                                const Stencil& stencil,
                                                std::string_view name);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_PLACEMENT_TEXT_H_
