// How a test speaks to emulated_cupti.so, beside CUPTI's functions.
#ifndef ENCORE_BACKENDS_CUDA_PROFILING_TESTING_EMULATED_CUPTI_ABI_H_
#define ENCORE_BACKENDS_CUDA_PROFILING_TESTING_EMULATED_CUPTI_ABI_H_

#include <cstddef>
#include <cstdint>

#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/profiling/cupti_types.h"

namespace encore::backends::cuda {

// Work that was done, in nanoseconds.
struct EmulatedActivity {
  CUstream stream = nullptr;
  bool is_copy = false;
  int64_t begin_ns = 0, end_ns = 0;
};

// What `EmulatedCupti` of the library, a function without parameters, returns.
struct EmulatedCuptiControl {
  // Where work is from: writes the work that was done since it was called
  // before, at most so many pieces, and returns how many.
  void (*use)(size_t (*take)(EmulatedActivity* activities, size_t most));
  // From now on the k-th call (from 0) of `function` returns `result` and does
  // nothing; -1: none.
  void (*fail)(const char* function, int64_t k, CuptiResult result);
  // Calls of `function` since `fail` was called for it.
  int64_t (*calls)(const char* function);
  // Kinds of records that are made.
  int64_t (*enabled)();
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_PROFILING_TESTING_EMULATED_CUPTI_ABI_H_
