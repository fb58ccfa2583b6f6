// emulated_cublaslt.so in a test: where it is, and what it is told.
#ifndef ENCORE_BACKENDS_CUDA_LIBRARY_TESTING_EMULATED_LIBRARY_H_
#define ENCORE_BACKENDS_CUDA_LIBRARY_TESTING_EMULATED_LIBRARY_H_

#include <string>

#include "encore/backends/cuda/library/testing/emulated_cublaslt_abi.h"

namespace encore::backends::cuda {

// The library's path, for DeviceOptions::cublaslt.
std::string EmulatedLibraryPath();

// Its control, for products on the FakeDriver that is alive. Dies where it
// cannot be loaded.
const EmulatedCublasLtControl& EmulatedLibrary();

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_LIBRARY_TESTING_EMULATED_LIBRARY_H_
