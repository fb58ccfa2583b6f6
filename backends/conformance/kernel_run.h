// One kernel on buffers of its own, as they lie in memory.
#ifndef ENCORE_BACKENDS_CONFORMANCE_KERNEL_RUN_H_
#define ENCORE_BACKENDS_CONFORMANCE_KERNEL_RUN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/region/region.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::backends {

// The extents in memory of an operand under values of the region's symbols.
std::vector<int64_t> MemoryExtents(const Operand& operand,
                                   std::span<const int64_t> symbols);

// Compiles the request and launches it on two threads. `inputs` and the results
// lie as their operands' layouts say; what is written is filled with garbage
// before. With `in_place` outputs lie where the kernel says they may. Internal
// where the kernel writes behind a buffer or into an input; errors of Compile,
// Load and Launch.
StatusOr<std::vector<Literal>> RunKernel(const Backend& backend,
                                         const CompileRequest& request,
                                         std::span<const Literal> inputs,
                                         std::span<const int64_t> symbols = {},
                                         bool in_place = false);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_KERNEL_RUN_H_
