// Attribute functions of convolutions.
#ifndef ENCORE_OPT_TENSOR_FUNCTIONS_CONVOLUTION_FUNCTIONS_H_
#define ENCORE_OPT_TENSOR_FUNCTIONS_CONVOLUTION_FUNCTIONS_H_

#include <span>

#include "encore/opt/tensor/functions/attribute_function.h"

namespace encore::opt {

// Of images [batch, channels, …] and kernels [channels, channels of a group of
// the image, …].
std::span<const AttributeFunction> ConvolutionFunctions();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FUNCTIONS_CONVOLUTION_FUNCTIONS_H_
