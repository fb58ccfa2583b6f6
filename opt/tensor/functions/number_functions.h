// What rules say of numbers and of comparisons, by name.
#ifndef ENCORE_OPT_TENSOR_FUNCTIONS_NUMBER_FUNCTIONS_H_
#define ENCORE_OPT_TENSOR_FUNCTIONS_NUMBER_FUNCTIONS_H_

#include <span>

#include "encore/opt/tensor/functions/attribute_function.h"

namespace encore::opt {

std::span<const AttributeFunction> NumberFunctions();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FUNCTIONS_NUMBER_FUNCTIONS_H_
