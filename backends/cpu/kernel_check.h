// Generated kernels run by themselves, for tests.
#ifndef ENCORE_BACKENDS_CPU_KERNEL_CHECK_H_
#define ENCORE_BACKENDS_CPU_KERNEL_CHECK_H_

#include <cstddef>
#include <string>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/options.h"
#include "encore/backends/region/region.h"
#include "encore/ir/types/literal.h"

namespace encore::backends::cpu {

using Bytes = std::vector<std::byte>;

// Options with which no vendor's kernels are there.
CompileOptions GeneratedOnly();

// Runs one candidate on inputs with 64 bytes behind each, and returns the
// outputs, with as many.
std::vector<Bytes> RunCandidate(const Region& region,
                                const CompileRequest& request,
                                std::vector<Bytes> inputs, int threads);

// Every candidate of the region of the graph, on one thread and on two, against
// the bounds of conformance/bounds.h, and the memory that it says it needs; on
// random data where no arguments are given.
void CheckKernels(const std::string& text, std::vector<Literal> arguments = {});

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_KERNEL_CHECK_H_
