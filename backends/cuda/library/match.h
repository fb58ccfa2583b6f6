// Which regions are products that a library computes, and the recipe of each.
#ifndef ENCORE_BACKENDS_CUDA_LIBRARY_MATCH_H_
#define ENCORE_BACKENDS_CUDA_LIBRARY_MATCH_H_

#include <cstdint>
#include <optional>

#include "encore/backends/cuda/library/recipe.h"
#include "encore/backends/options.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cuda {

// The recipe of a region of known sizes whose sum is a (batched, strided)
// matrix product of f32, f64, f16 or bf16 loads, one of whose dims in each
// factor and whose columns in the result are dense. Behind the sum may come a
// tensor that is added, a bias along the columns and a relu, in this order; the
// first two swapped only under rewrites that reassociate, as the library adds
// the bias last; relu only under such that hold where nothing is NaN, as the
// library does not say what it makes of one. Looked at are addresses, so that
// fused transposes and slices count as what they are. Casts are looked through
// where they keep every value, and where f32 is rounded to the result's dtype
// at the end. Nothing for other regions, and for sizes beyond what a recipe has
// (recipe.h).
std::optional<LibraryRecipe> MatchLibrary(const FlatRegion& flat,
                                          const CompileOptions& options);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_LIBRARY_MATCH_H_
