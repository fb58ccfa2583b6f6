// What rules say of groups, slices, points and factors of convolutions, by
// name.
#ifndef ENCORE_OPT_TENSOR_FUNCTIONS_CONVOLUTION_PART_FUNCTIONS_H_
#define ENCORE_OPT_TENSOR_FUNCTIONS_CONVOLUTION_PART_FUNCTIONS_H_

#include <span>

#include "encore/opt/tensor/functions/attribute_function.h"

namespace encore::opt {

std::span<const AttributeFunction> ConvolutionPartFunctions();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FUNCTIONS_CONVOLUTION_PART_FUNCTIONS_H_
