// Which loops of a stage may run in any order, though its stores may meet.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_LOOPS_UNORDERED_LOOPS_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_LOOPS_UNORDERED_LOOPS_H_

#include <cstdint>
#include <vector>

#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cuda {

// Of a stage's loops those that may run in any order: two iterations that
// differ in one of them store different elements.
std::vector<uint32_t> UnorderedLoops(const FlatRegion& flat, uint32_t stage);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_LOOPS_UNORDERED_LOOPS_H_
