// Regions in other layouts: what layout assignment is made of.
#ifndef ENCORE_BACKENDS_REGION_RELAYOUT_H_
#define ENCORE_BACKENDS_REGION_RELAYOUT_H_

#include <vector>

#include "encore/backends/region/region.h"
#include "encore/ir/support/status.h"

namespace encore::backends {

// `region` with those layouts of its inputs and outputs, as a Candidate asks
// for them (backend.h); an empty list changes none. It computes the same.
// InvalidArgument where a list is neither empty nor one per operand, or a
// layout does not fit (verify.h).
StatusOr<Region> WithLayouts(const Region& region,
                             const std::vector<Layout>& inputs,
                             const std::vector<Layout>& outputs);

// The region that copies a tensor from one layout to another: packs where `to`
// has blocks, unpacks where only `from` has. Its symbols are those of the dims.
// REQUIRES layouts that fit the dims.
Region CopyRegion(DType dtype, const std::vector<Dim>& dims, const Layout& from,
                  const Layout& to);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_RELAYOUT_H_
