// The elementwise primitives of the op table as vector code.
//
// Values are in compute form: bool is i1, floats narrower than f32 are f32, i4
// and u4 are i8 (extended from their four bits), the other dtypes are
// themselves. In memory i4 and u4 are the low bits of an i8 (lane_memory.h has
// two share a byte), f8 and bf16 their bits. Semantics are the op table's
// (wrapping integers, division by zero, NaN).
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_SCALAR_OPS_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_SCALAR_OPS_H_

#include <span>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

// Whether kernels compute with `dtype`.
bool IsComputed(DType dtype);

// As LaneAddress has it: 0 where elements have whole bytes.
int PackedBits(DType dtype);

// The element of the compute form, and of the form in memory. REQUIRES
// IsComputed(dtype).
Elem ComputeElem(DType dtype);
Elem MemoryElem(DType dtype);

// Between the two forms; narrow floats round to nearest even.
Value FromMemory(IrBuilder& b, DType dtype, const Value& value);
Value ToMemory(IrBuilder& b, DType dtype, const Value& value);

// The element of `dtype` whose bits are `bits`, in compute form.
Value ConstantValue(DType dtype, uint64_t bits, int lanes);
// The identity of a combiner; of kMax and kMin on floats an infinity, whether
// or not `dtype` has one.
Value Identity(RegionCombiner combiner, DType dtype, int lanes);
// a combined with b, one of kSum to kOr.
Value Combine(IrBuilder& b, RegionCombiner combiner, DType dtype,
              const Value& x, const Value& y);

// `expr` of kind kOp on operands of the same number of lanes, whose dtypes are
// `dtypes`.
Value EmitOp(IrBuilder& b, const Value& helpers, const Expr& expr,
             std::span<const DType> dtypes, std::span<const Value> operands);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_SCALAR_OPS_H_
