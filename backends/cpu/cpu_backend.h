// The CPU backend: its compiler half. device.h is the other one.
#ifndef ENCORE_BACKENDS_CPU_CPU_BACKEND_H_
#define ENCORE_BACKENDS_CPU_CPU_BACKEND_H_

#include "encore/backends/backend.h"

namespace encore::backends::cpu {

// Kernels are compiled for HostCpu().isa. Compile loads the code generator
// module (codegen/compiler.h says where from) and takes a few milliseconds per
// different kernel. Lives as long as the process.
const Backend* CpuBackend();

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CPU_BACKEND_H_
