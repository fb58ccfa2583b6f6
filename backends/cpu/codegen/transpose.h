// Transposes a square of vectors in registers.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_TRANSPOSE_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_TRANSPOSE_H_

#include <vector>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"

namespace encore::backends::cpu {

// Lane r of vector c of the result is lane c of rows[r]. One shuffle for each
// of log2(rows) rounds and vector, none of which but those of the last rounds
// crosses a part of 128 bits. REQUIRES as many rows as lanes, a power of two,
// all of one type.
std::vector<Value> Transpose(IrBuilder& b, std::vector<Value> rows);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_TRANSPOSE_H_
