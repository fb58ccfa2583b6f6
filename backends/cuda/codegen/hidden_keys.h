// Which scores of attention are -infinity whatever the products are, by what
// depends on row and key alone: a mask, or causality.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_HIDDEN_KEYS_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_HIDDEN_KEYS_H_

#include <functional>
#include <string>

#include "encore/backends/region/flat/attention_region.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cuda {

// C++ of a bool: whether the score is known to be -infinity, where all that is
// added to what is selected is finite. `name_of` gives the names of conditions,
// which depend on no product. Empty where no score is.
std::string HiddenKeysCode(const AttentionRegion& attention,
                           const std::function<std::string(ExprId)>& name_of);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_HIDDEN_KEYS_H_
