// What rules say of products of what is repeated, by name.
#ifndef ENCORE_OPT_TENSOR_FUNCTIONS_REPEAT_FUNCTIONS_H_
#define ENCORE_OPT_TENSOR_FUNCTIONS_REPEAT_FUNCTIONS_H_

#include <span>

#include "encore/opt/tensor/functions/attribute_function.h"

namespace encore::opt {

std::span<const AttributeFunction> RepeatFunctions();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FUNCTIONS_REPEAT_FUNCTIONS_H_
