// The attribute functions that there are: conditions here, the others by theme
// (movement_functions.h, product_functions.h, product_part_functions.h).
#ifndef ENCORE_OPT_TENSOR_FUNCTIONS_ATTRIBUTE_FUNCTIONS_H_
#define ENCORE_OPT_TENSOR_FUNCTIONS_ATTRIBUTE_FUNCTIONS_H_

#include <string_view>
#include <vector>

#include "encore/opt/tensor/functions/attribute_function.h"

namespace encore::opt {

// Null where there is none of that name.
const AttributeFunction* FindAttributeFunction(std::string_view name);
std::vector<AttributeFunction> AllAttributeFunctions();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FUNCTIONS_ATTRIBUTE_FUNCTIONS_H_
