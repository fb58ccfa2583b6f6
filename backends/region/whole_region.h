// The region of a whole graph, for tests.
#ifndef ENCORE_BACKENDS_REGION_WHOLE_REGION_H_
#define ENCORE_BACKENDS_REGION_WHOLE_REGION_H_

#include "encore/backends/region/build.h"
#include "encore/ir/graph/graph.h"

namespace encore::backends {

// Of all nodes that have a region, for the graph's outputs. Dies where they are
// no region.
BuiltRegion BuildWhole(const Graph& graph);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_WHOLE_REGION_H_
