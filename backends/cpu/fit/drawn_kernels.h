// Kernels drawn at random, for judging estimates: products, convolutions,
// reductions and elementwise kernels of shapes that models have.
#ifndef ENCORE_BACKENDS_CPU_FIT_DRAWN_KERNELS_H_
#define ENCORE_BACKENDS_CPU_FIT_DRAWN_KERNELS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace encore::backends::cpu {

struct DrawnKernel {
  std::string kind;  // "product", "convolution", "reduction", "elementwise"
  std::string name;  // kind and shape in short
  std::string text;  // a graph that is one region
};

// `count` kernels, the same for the same seed; half of them products and
// convolutions of f32.
std::vector<DrawnKernel> DrawKernels(int count, uint64_t seed);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_FIT_DRAWN_KERNELS_H_
