// The region interpreter: the meaning of a region as code, slow and obvious.
//
// Scalars of float dtypes are computed in f64 and rounded to the expression's
// dtype; integers wrap as the op table says. Reductions of floats accumulate in
// f64 in the order of the loops and are rounded to the stage's dtype at the
// end.
#ifndef ENCORE_BACKENDS_REGION_INTERPRETER_H_
#define ENCORE_BACKENDS_REGION_INTERPRETER_H_

#include <cstdint>
#include <span>

#include "encore/backends/region/region.h"
#include "encore/ir/support/status.h"

namespace encore::backends {

// Memory of an operand, laid out as its Layout says.
struct Buffer {
  void* data = nullptr;
  int64_t bytes = 0;
};

// Computes `region` under values of its symbols. REQUIRES a verified region.
// OutOfRange where an index that is not checked leaves its operand, or a buffer
// is smaller than its operand, or a Check does not hold: then *failed_node is
// its node. Outputs are then undefined. Thread-safe.
Status Interpret(const Region& region, std::span<const int64_t> symbols,
                 std::span<const Buffer> inputs,
                 std::span<const Buffer> outputs,
                 uint32_t* failed_node = nullptr);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_INTERPRETER_H_
