// What rules say of cumulative operators, and of reverses, by name.
#ifndef ENCORE_OPT_TENSOR_FUNCTIONS_PREFIX_FUNCTIONS_H_
#define ENCORE_OPT_TENSOR_FUNCTIONS_PREFIX_FUNCTIONS_H_

#include <span>

#include "encore/opt/tensor/functions/attribute_function.h"

namespace encore::opt {

std::span<const AttributeFunction> PrefixFunctions();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FUNCTIONS_PREFIX_FUNCTIONS_H_
