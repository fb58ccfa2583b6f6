// MadeUpData: tensors to time kernels and plans on.
#ifndef ENCORE_BACKENDS_LOWERING_MADE_UP_DATA_H_
#define ENCORE_BACKENDS_LOWERING_MADE_UP_DATA_H_

#include <cstdint>
#include <vector>

#include "encore/ir/types/dtype.h"
#include "encore/ir/types/literal.h"

namespace encore::backends {

// Depends on nothing but what is given: floats are in [-1, 1), integers small,
// so that indices stay within what they index. REQUIRES a dtype of numbers.
Literal MadeUpData(DType dtype, std::vector<int64_t> dims, uint64_t seed);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_MADE_UP_DATA_H_
