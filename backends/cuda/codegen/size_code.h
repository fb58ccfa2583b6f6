// Sizes as C++ of the device.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_SIZE_CODE_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_SIZE_CODE_H_

#include <string>

#include "encore/ir/types/dim.h"

namespace encore::backends::cuda {

// A dim over the kernel's args a0, a1, …: an i64, or a literal.
std::string DimCode(const Dim& dim);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_SIZE_CODE_H_
