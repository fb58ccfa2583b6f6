// The matcher behind match.h, in three parts: products (match.cc),
// convolutions (match_convolution.cc), pieces and epilogue (match_epilogue.cc).
#ifndef ENCORE_BACKENDS_CPU_VENDOR_MATCHER_H_
#define ENCORE_BACKENDS_CPU_VENDOR_MATCHER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encore/backends/cpu/codegen/flat_region.h"
#include "encore/backends/cpu/vendor/match.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

class Matcher {
 public:
  // REQUIRES that both outlive the matcher.
  Matcher(const Region& region, const std::vector<bool>& weights)
      : region_(region), weights_(weights) {}

  // Once.
  std::optional<VendorMatch> Run();

 private:
  const Access& Load(ExprId factor) const { return region_.access(factor); }
  const FlatAccess& FlatLoad(ExprId factor) const {
    return flat_->loads[region_.expr(factor).number];
  }
  bool IsPlainLoad(ExprId id) const;
  // The first stage is the only sum, of a product of two loads; its epilogue
  // is maps of one point each.
  bool FindSum();
  // Whether all accesses of the epilogue are linear in the variables.
  bool IsLinear() const;
  // By expression: what the epilogue evaluates.
  std::vector<bool> Needed() const;
  bool IsSumLoad(ExprId id) const;
  // Sums lie where the one output will, if that has one f32 element for each.
  void PlaceSums();
  bool HasEpilogue() const;

  bool MatchDot();
  void FillDot(int m, int n, int k, const std::vector<uint32_t>& batch);

  bool MatchConvolution();
  void FillOperand(const Access& access, VendorTensor* tensor) const;
  bool MatchChannels(const Index& source, const Index& weights);
  bool MatchSpatial(size_t d, const Index& position, const Index& window);
  // Spatial dims in which nothing moves go away, one stays: the library tiles
  // its registers along the last dim, which would be idle otherwise.
  void DropUnitDims();
  // A dim of the result that `variable` runs along; -1: of extent 1.
  void AddResultDim(int variable);
  // The variable of an index that is nothing but `stride` times one of them;
  // -1: the index is 0.
  std::optional<int> Single(const Index& index, int64_t stride) const;
  int64_t Extent(int variable) const {
    return variable < 0 ? Size(1) : flat_->extents[variable];
  }

  // Chooses program.split and program.piece.
  void Cut(bool epilogue);
  // Chooses program.split; returns what a piece is to be a multiple of.
  int64_t ChooseSplit();
  void MakeEpilogue();
  // Gives accesses and stores of the epilogue their linear addresses.
  void Linearize(Region* epilogue) const;
  // Makes the epilogue one of a single piece, where each buffer moves evenly
  // from piece to piece.
  void Slice(Region* region);

  const Region& region_;
  const std::vector<bool>& weights_;
  VendorMatch match_;
  std::optional<FlatRegion> flat_;
  ExprId lhs_, rhs_;
  Affine sums_;  // where the sum of a point of the outer variables lies
  // By dim of the result: the variable that runs along it alone, or -1.
  std::vector<int> result_variables_;
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_VENDOR_MATCHER_H_
