// How a test speaks to emulated_cublaslt.so, beside cuBLASLt's functions.
#ifndef ENCORE_BACKENDS_CUDA_LIBRARY_TESTING_EMULATED_CUBLASLT_ABI_H_
#define ENCORE_BACKENDS_CUDA_LIBRARY_TESTING_EMULATED_CUBLASLT_ABI_H_

#include <cstddef>
#include <cstdint>

#include "encore/backends/cuda/driver/driver.h"
#include "encore/backends/cuda/library/cublaslt_types.h"

namespace encore::backends::cuda {

// What `EmulatedCublasLt` of the library, a function without parameters,
// returns.
struct EmulatedCublasLtControl {
  // The driver that products are launched by, and the PTX of testdata/product.
  void (*use)(FindFunction find, const char* ptx);
  // From now on the k-th call (from 0) of `function` returns `status` and does
  // nothing; -1: none.
  void (*fail)(const char* function, int64_t k, LtStatus status);
  // Calls of `function` since `fail` was called for it.
  int64_t (*calls)(const char* function);
  // Handles that were not destroyed.
  int64_t (*handles)();
  // What cublasLtGetVersion says: 130100.
  void (*set_version)(size_t version);
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_LIBRARY_TESTING_EMULATED_CUBLASLT_ABI_H_
