#include "encore/ir/testing/random_data.h"

#include <cmath>

#include "encore/ir/types/dtype.h"

namespace encore {

Literal RandomData(const TensorType& type, uint32_t seed) {
  Literal literal(type.dtype, type.shape.ConstantDims());
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    seed = seed * 1664525 + 1013904223;
    const double unit = (seed >> 8) * 0x1p-24 * 2 - 1;
    literal.SetDouble(i, IsFloat(type.dtype) ? unit : std::floor(unit * 5));
  }
  return literal;
}

}  // namespace encore
