// Which outputs of a generated kernel may be written over which inputs.
#ifndef ENCORE_BACKENDS_REGION_FLAT_IN_PLACE_H_
#define ENCORE_BACKENDS_REGION_FLAT_IN_PLACE_H_

#include <vector>

#include "encore/backends/region/flat/flat_region.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

// Pairs of an input whose every load is of the element that the output's store
// writes, in a region of one map, element by element.
std::vector<runtime::Launch::InPlace> InPlacePairs(const FlatRegion& flat);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_FLAT_IN_PLACE_H_
