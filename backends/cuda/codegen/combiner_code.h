// Combiners as C++ of the device: device/combine.cuh has them.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_COMBINER_CODE_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_COMBINER_CODE_H_

#include <string>

#include "encore/backends/region/region.h"

namespace encore::backends::cuda {

// What a kReduce or kScan stage keeps while it goes on.
struct CombinerCode {
  std::string type = {};      // "SumOf<f32>"
  std::string identity = {};  // an initializer of the type
  // Adds the value of that name, whose row-major number is `order`.
  std::string Add(std::string_view accumulator, std::string_view value,
                  std::string_view order) const;
  // Component of the result, in the stage's dtype. `last_extent`: that of the
  // last reduced variable, for the number that an arg-reduction gives.
  std::string Result(std::string_view accumulator, int component,
                     std::string_view last_extent) const;

  RegionCombiner combiner = RegionCombiner::kSum;
  DType dtype = DType::kF32;  // of the result
  DType kept = DType::kF32;   // of what is added
  std::string value = {};     // its C type
};

CombinerCode CombinerOf(const Region& region, uint32_t stage);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_COMBINER_CODE_H_
