// Scalars as C++ of the device: types, constants, and the functions of
// device_library.h that an expression calls.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_SCALAR_CODE_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_SCALAR_CODE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "encore/backends/region/region.h"
#include "encore/ir/types/dtype.h"

namespace encore::backends::cuda {

// The C type that a scalar of `dtype` is held in: of floats f64 for f64, else
// f32; of integers that of their width, a byte for those of less.
std::string_view CType(DType dtype);
int CTypeBytes(DType dtype);

// The element whose bits are `bits`.
std::string ConstantCode(DType dtype, uint64_t bits);

// `value`, a scalar of any dtype, as one of `dtype`, rounded once.
std::string CastCode(DType dtype, std::string_view value,
                     bool saturate = false);

// What `expr`, a kOp of `region`, makes of its operands, whose names these are.
// `same_divisor`: of a division, that many have its divisor.
std::string OpCode(const Region& region, const Expr& expr,
                   std::span<const std::string> operands,
                   bool same_divisor = false);

// `op`, an elementwise operator of two operands, on scalars of `dtype`.
std::string BinaryCode(Op op, DType dtype, std::string_view x,
                       std::string_view y);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_SCALAR_CODE_H_
