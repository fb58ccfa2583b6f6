// Kernels drawn at random, for judging estimates: products, convolutions, those
// on large maps apart, reductions and elementwise kernels of shapes that models
// have.
#ifndef ENCORE_BACKENDS_CPU_FIT_DRAWN_KERNELS_H_
#define ENCORE_BACKENDS_CPU_FIT_DRAWN_KERNELS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace encore::backends::cpu {

struct DrawnKernel {
  // "product", "convolution", "map", "reduction", "elementwise"
  std::string kind;
  std::string name;  // operator and shape in short
  std::string text;  // a graph that is one region
};

// `count` kernels, the same for the same seed; three quarters of them products
// and convolutions of f32.
std::vector<DrawnKernel> DrawKernels(int count, uint64_t seed);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_FIT_DRAWN_KERNELS_H_
