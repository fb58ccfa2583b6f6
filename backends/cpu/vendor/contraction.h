// VendorContraction: what the sums of a region are to the vendor library.
#ifndef ENCORE_BACKENDS_CPU_VENDOR_CONTRACTION_H_
#define ENCORE_BACKENDS_CPU_VENDOR_CONTRACTION_H_

#include <vector>

#include "encore/backends/cpu/vendor/program.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

struct VendorContraction {
  // Kind, tensors without their buffers, and of a convolution its window.
  VendorProgram program;
  // The weights depend on parameters only and may be packed.
  bool pack = false;
  ExprId source, weights;  // the factors that they are
  // By dim of the result: the variable that runs along it alone, or -1.
  std::vector<int> result_variables;
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_VENDOR_CONTRACTION_H_
