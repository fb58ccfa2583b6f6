// SumRegion: a region that begins with a sum of products, as the matchers of
// the vendor library look at it.
#ifndef ENCORE_BACKENDS_CPU_VENDOR_SUM_REGION_H_
#define ENCORE_BACKENDS_CPU_VENDOR_SUM_REGION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

class SumRegion {
 public:
  // Nothing unless the first stage is the only sum, of a product of two f32
  // loads, and the others, its epilogue, are maps of one point each, all of
  // whose accesses are linear in the variables. `region` must outlive this.
  static std::optional<SumRegion> Find(const Region& region);

  const Region& region() const { return *region_; }
  const FlatRegion& flat() const { return flat_; }

  // The factors of the product, both loads.
  ExprId lhs() const { return lhs_; }
  ExprId rhs() const { return rhs_; }
  const Access& Load(ExprId factor) const { return region().access(factor); }
  const FlatAccess& FlatLoad(ExprId factor) const {
    return flat_.loads[region().expr(factor).number];
  }
  // Of a variable; of -1: 1.
  int64_t Extent(int variable) const {
    return variable < 0 ? Size(1) : flat_.extents[variable];
  }

  // Where the sum of a point of the outer variables lies: in the one output, if
  // that has one f32 element for each, or row-major in scratch memory.
  const Affine& sums() const { return sums_; }
  bool sums_in_scratch() const { return sums_in_scratch_; }

  // Whether anything is left to do when the sums lie there.
  bool HasEpilogue() const;
  // By expression: what the epilogue evaluates.
  std::vector<bool> Needed() const;

 private:
  explicit SumRegion(const Region& region) : region_(&region) {}
  bool IsPlainLoad(ExprId id) const;
  bool FindSum();
  bool IsLinear() const;
  bool IsSumLoad(ExprId id) const;
  void PlaceSums();

  const Region* region_;
  FlatRegion flat_;
  ExprId lhs_, rhs_;
  Affine sums_;
  bool sums_in_scratch_ = false;
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_VENDOR_SUM_REGION_H_
