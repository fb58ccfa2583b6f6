// Place: the elements of an operand in memory, one by one.
#ifndef ENCORE_BACKENDS_REGION_PLACE_H_
#define ENCORE_BACKENDS_REGION_PLACE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "encore/backends/region/layout.h"
#include "encore/backends/region/scalar.h"
#include "encore/ir/types/dtype.h"

namespace encore::backends {

class Place {
 public:
  // REQUIRES a layout that region/verify.h accepts for the dims. `data` is
  // looked at by Load, Store and ClearPadding, which REQUIRE MemoryBytes there.
  Place(DType dtype, std::vector<int64_t> dims, const Layout& layout,
        void* data);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }

  // Padding included; nothing where they are too many, or a dim is negative.
  std::optional<int64_t> MemoryBytes() const;

  // The element at a position, which must exist.
  Scalar Load(std::span<const int64_t> at) const;
  void Store(std::span<const int64_t> at, Scalar value) const;

  // Zeros wherever in memory no element is.
  void ClearPadding() const;

 private:
  // Position i of a dim adds i / block * stride + i % block * inner.
  struct Step {
    int64_t block = 1, stride = 0, inner = 0;
  };

  int64_t BlockCount(size_t d) const;
  int64_t Offset(std::span<const int64_t> at) const;

  DType dtype_;
  std::vector<int64_t> dims_;
  std::vector<Step> steps_;  // by dim
  void* data_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_PLACE_H_
