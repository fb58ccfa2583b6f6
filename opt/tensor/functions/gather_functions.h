// What rules say of gathers of whole slices along one dim, by name.
#ifndef ENCORE_OPT_TENSOR_FUNCTIONS_GATHER_FUNCTIONS_H_
#define ENCORE_OPT_TENSOR_FUNCTIONS_GATHER_FUNCTIONS_H_

#include <span>

#include "encore/opt/tensor/functions/attribute_function.h"

namespace encore::opt {

std::span<const AttributeFunction> GatherFunctions();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FUNCTIONS_GATHER_FUNCTIONS_H_
