// What rules say of what was padded, by name.
#ifndef ENCORE_OPT_TENSOR_FUNCTIONS_PAD_FUNCTIONS_H_
#define ENCORE_OPT_TENSOR_FUNCTIONS_PAD_FUNCTIONS_H_

#include <span>

#include "encore/opt/tensor/functions/attribute_function.h"

namespace encore::opt {

std::span<const AttributeFunction> PadFunctions();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FUNCTIONS_PAD_FUNCTIONS_H_
