// Attribute functions of whole products: their order, transposes and factors.
#ifndef ENCORE_OPT_TENSOR_FUNCTIONS_PRODUCT_FUNCTIONS_H_
#define ENCORE_OPT_TENSOR_FUNCTIONS_PRODUCT_FUNCTIONS_H_

#include <span>

#include "encore/opt/tensor/functions/attribute_function.h"

namespace encore::opt {

std::span<const AttributeFunction> ProductFunctions();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FUNCTIONS_PRODUCT_FUNCTIONS_H_
