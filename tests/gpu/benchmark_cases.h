// The kernels that gpu_benchmark measures.
#ifndef ENCORE_TESTS_GPU_BENCHMARK_CASES_H_
#define ENCORE_TESTS_GPU_BENCHMARK_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "encore/backends/options.h"

namespace encore::gpu {

struct BenchmarkCase {
  std::string name;
  std::string text;
  backends::Precision precision = backends::Precision::kF32;
  // Of a product: its operations, and the text of what cuBLASLt computes, if
  // that has some.
  double flops = 0;
  std::string library_text = {};
};

// Kernels that memory bounds, whose largest tensor has so many elements.
std::vector<BenchmarkCase> MemoryBound(int64_t elements);

// Products of squares of so many elements, with few rows and with one, a
// convolution, and attention of many rows and of one.
std::vector<BenchmarkCase> Products(int64_t elements);

// A graph of so many kernels of few elements, one after the other: what is
// reduced keeps them apart.
std::string ChainText(int kernels);

}  // namespace encore::gpu

#endif  // ENCORE_TESTS_GPU_BENCHMARK_CASES_H_
