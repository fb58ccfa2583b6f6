// ShadowExecutor: runs a compiled graph of constant sizes on two memories at
// once and says whether its memory plan changed anything. For the mutation
// test.
//
// One memory has the plan's layout, the other a buffer of its own for every
// tensor. Kernels are replaced by a hash of all they read; before a kernel
// runs, what it writes is filled with junk, as a kernel may write before it
// reads. The plan is harmless where every step reads the same defined bytes in
// both.
#ifndef ENCORE_RUNTIME_TESTING_SHADOW_EXECUTOR_H_
#define ENCORE_RUNTIME_TESTING_SHADOW_EXECUTOR_H_

#include <string>

#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// Empty where prepare and run are harmless, else what went wrong. Anything a
// mutation can make is safe, but ids must be in range and sizes small.
std::string FindHarm(const CompiledGraph& graph);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_TESTING_SHADOW_EXECUTOR_H_
