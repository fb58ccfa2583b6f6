// Variables that all accesses walk through as if they were one. Private to
// flat_region.cc.
#ifndef ENCORE_BACKENDS_REGION_FLAT_MERGE_VARIABLES_H_
#define ENCORE_BACKENDS_REGION_FLAT_MERGE_VARIABLES_H_

#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends {

// Merges adjacent variables: the last one stands for all, the others get extent
// 1. With `repeats` an
// innermost one that loads do not depend on as well (FlatAccess::Repeat).
// `planned`: whose merged variables alone are merged; null: all that can be.
void MergeVariables(FlatRegion* flat, bool repeats, const FlatRegion* planned);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_FLAT_MERGE_VARIABLES_H_
