// Tensors of generated values.
#ifndef ENCORE_TOOLS_IO_GENERATE_H_
#define ENCORE_TOOLS_IO_GENERATE_H_

#include <cstdint>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::tools {

// Values for a tensor of this type, the same for the same seed: floats between
// -1 and 1, integers small and not negative, bools, empty strings.
// ResourceExhausted where the tensor is larger than this machine's memory.
StatusOr<Literal> Generate(DType dtype, const std::vector<int64_t>& dims,
                           uint64_t seed);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_IO_GENERATE_H_
