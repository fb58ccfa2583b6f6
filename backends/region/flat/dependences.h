// What the expressions of a flat region depend on.
#ifndef ENCORE_BACKENDS_REGION_FLAT_DEPENDENCES_H_
#define ENCORE_BACKENDS_REGION_FLAT_DEPENDENCES_H_

#include <cstdint>
#include <vector>

#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends {

class Dependences {
 public:
  explicit Dependences(const FlatRegion& flat);

  // Whether the value, or whether there is one, depends on the variable.
  bool On(ExprId id, uint32_t variable) const {
    return variables_[id.value()][variable];
  }
  // Whether it reads memory or may fail.
  bool Reads(ExprId id) const { return reads_[id.value()]; }

 private:
  void Include(size_t expr, ExprId operand);
  void Include(size_t expr, const FlatRegion& flat, const Affine& affine);

  std::vector<std::vector<bool>> variables_;
  std::vector<bool> reads_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_FLAT_DEPENDENCES_H_
