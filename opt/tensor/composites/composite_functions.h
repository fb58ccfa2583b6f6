// What rules say of composites, by name.
#ifndef ENCORE_OPT_TENSOR_COMPOSITES_COMPOSITE_FUNCTIONS_H_
#define ENCORE_OPT_TENSOR_COMPOSITES_COMPOSITE_FUNCTIONS_H_

#include <span>

#include "encore/opt/tensor/functions/attribute_function.h"

namespace encore::opt {

std::span<const AttributeFunction> CompositeFunctions();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_COMPOSITES_COMPOSITE_FUNCTIONS_H_
