// VerifyRegion: the invariants of a region.
//
//  1. Numbers of variables, inputs, outputs, accesses, stages, components and
//     symbols name something; ids of operands are below their user's.
//  2. Extents and dims are valid; `outer` is at most the number of variables.
//  3. A load's access has one index per dim of its input or per loop of its
//     stage, and reads a stage before the one that evaluates it.
//  4. An expression's operand count and dtypes are those that the op table
//     says; indirect indices are i64; a fill has the load's dtype.
//  5. What a stage evaluates uses outer variables and its own loops and reduced
//     variables only; these are inner variables, each in one place.
//  6. Only kMap stages store, only kReduce stages have reduced variables (at
//     least one, but for kReduce over nothing), a kScan has one loop and a
//     combiner of one component that is no arg-reduction.
//  7. A stored value has the output's dtype; every output is stored by a stage.
//  8. Divisors are positive, above 1 in checked accesses only, and never in
//     stores.
//  9. A contraction names a kReduce stage with kSum.
// 10. The order of a layout is empty or a permutation of the operand's dims.
// 11. A layout has at most kMaxBlocks blocks, each of another dim of the
//     operand, of 1 to kMaxBlockSize elements.
// 12. A blocked dim is constant and not negative. The product of an operand's
//     constant dims, blocked ones rounded up, and its bits is an int64.
// 13. A check is of a gather or scatter; its node, axis and component are below
//     IndexCheck::kMost.
#ifndef ENCORE_BACKENDS_REGION_VERIFY_H_
#define ENCORE_BACKENDS_REGION_VERIFY_H_

#include "encore/backends/region/region.h"
#include "encore/ir/support/status.h"

namespace encore::backends {

// InvalidArgument names the invariant and the place.
Status VerifyRegion(const Region& region);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_VERIFY_H_
