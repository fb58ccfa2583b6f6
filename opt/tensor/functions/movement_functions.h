// Attribute functions of transpose, reshape, broadcast, slice, concat, reduce.
#ifndef ENCORE_OPT_TENSOR_FUNCTIONS_MOVEMENT_FUNCTIONS_H_
#define ENCORE_OPT_TENSOR_FUNCTIONS_MOVEMENT_FUNCTIONS_H_

#include <span>

#include "encore/opt/tensor/functions/attribute_function.h"

namespace encore::opt {

std::span<const AttributeFunction> MovementFunctions();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FUNCTIONS_MOVEMENT_FUNCTIONS_H_
