// What rules say of reductions, and of what is spread along dims, by name.
#ifndef ENCORE_OPT_TENSOR_FUNCTIONS_REDUCTION_FUNCTIONS_H_
#define ENCORE_OPT_TENSOR_FUNCTIONS_REDUCTION_FUNCTIONS_H_

#include <span>

#include "encore/opt/tensor/functions/attribute_function.h"

namespace encore::opt {

std::span<const AttributeFunction> ReductionFunctions();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FUNCTIONS_REDUCTION_FUNCTIONS_H_
