// One-dimensional Winograd transforms of vectors as code.
#ifndef ENCORE_BACKENDS_CPU_WINOGRAD_TRANSFORM_EMITTER_H_
#define ENCORE_BACKENDS_CPU_WINOGRAD_TRANSFORM_EMITTER_H_

#include <vector>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/cpu/winograd/transform.h"

namespace encore::backends::cpu {

// B^T d. REQUIRES `d` of transform.points() values of one type.
std::vector<Value> EmitDataTransform(IrBuilder& b,
                                     const WinogradTransform& transform,
                                     const std::vector<Value>& d);

// A^T m. REQUIRES `m` of transform.points() values of one type.
std::vector<Value> EmitResultTransform(IrBuilder& b,
                                       const WinogradTransform& transform,
                                       const std::vector<Value>& m);

// matrix * x, of a row-major matrix of x.size() columns, in the type of x.
std::vector<Value> EmitProduct(IrBuilder& b, const std::vector<double>& matrix,
                               const std::vector<Value>& x);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_WINOGRAD_TRANSFORM_EMITTER_H_
