// What rules say of reshapes that split and merge dims, by name.
#ifndef ENCORE_OPT_TENSOR_FUNCTIONS_RESHAPE_FUNCTIONS_H_
#define ENCORE_OPT_TENSOR_FUNCTIONS_RESHAPE_FUNCTIONS_H_

#include <span>

#include "encore/opt/tensor/functions/attribute_function.h"

namespace encore::opt {

std::span<const AttributeFunction> ReshapeFunctions();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FUNCTIONS_RESHAPE_FUNCTIONS_H_
