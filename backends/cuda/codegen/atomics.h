// Stores that combine with what is there (a scatter's), by many threads at
// once.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_ATOMICS_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_ATOMICS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "encore/backends/region/flat/flat_region.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/types/dtype.h"

namespace encore::backends::cuda {

// How much a region's stores depend on the order in which they are made.
enum class StoreOrder : uint8_t {
  kFree,     // none meet: loops already run in any order
  kExact,    // they meet, and the results are the same in any order
  kRounded,  // sums or products of floats: they round in another order
  kFixed,    // the last one counts, or elements of less than 16 bits
};
StoreOrder OrderOf(const FlatRegion& flat);

// Iterations that run one after the other in the order of the loops, at the
// sizes that are planned for: of the stage with the most.
double SerialIterations(const FlatRegion& flat);

// The operator that combines, of anything but kSet.
Op OpOf(Update update);

// A statement that combines `value`, a C scalar of `dtype`, with element `at`
// of `array`. REQUIRES an update, of a dtype of at least 16 bits.
std::string AtomicCode(Update update, DType dtype, std::string_view array,
                       std::string_view at, std::string_view value);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_ATOMICS_H_
