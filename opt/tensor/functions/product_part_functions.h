// Attribute functions of parts of products: slices, concats, gathers, sums.
#ifndef ENCORE_OPT_TENSOR_FUNCTIONS_PRODUCT_PART_FUNCTIONS_H_
#define ENCORE_OPT_TENSOR_FUNCTIONS_PRODUCT_PART_FUNCTIONS_H_

#include <span>

#include "encore/opt/tensor/functions/attribute_function.h"

namespace encore::opt {

std::span<const AttributeFunction> ProductPartFunctions();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FUNCTIONS_PRODUCT_PART_FUNCTIONS_H_
