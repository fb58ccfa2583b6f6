#include "encore/backends/cpu/vendor/match_convolution.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace encore::backends::cpu {
namespace {

// Dims of extent 1 get the strides that make their tensor dense.
void MakeDense(VendorTensor* tensor) {
  int64_t stride = 1;
  for (size_t d = tensor->dims.size(); d-- > 0;) {
    if (tensor->dims[d] == 1) tensor->strides[d] = stride;
    stride = std::max(stride, tensor->dims[d] * tensor->strides[d]);
  }
}

class ConvolutionMatcher {
 public:
  ConvolutionMatcher(const SumRegion& sum, const std::vector<bool>& weights)
      : sum_(sum), weights_(weights) {
    found_.source = sum.lhs();
    found_.weights = sum.rhs();
  }

  bool Match();
  VendorContraction Take() { return std::move(found_); }

 private:
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

  const SumRegion& sum_;
  const std::vector<bool>& weights_;
  VendorContraction found_;
};

std::optional<int> ConvolutionMatcher::Single(const Index& index,
                                              int64_t stride) const {
  if (index.indirect.valid() || index.divisor != 1 || index.offset != Dim(0) ||
      index.terms.size() > 1) {
    return std::nullopt;
  }
  if (index.terms.empty()) return -1;
  if (index.terms[0].stride != Dim(stride)) return std::nullopt;
  return static_cast<int>(index.terms[0].variable);
}

void ConvolutionMatcher::AddResultDim(int variable) {
  found_.program.result.dims.push_back(sum_.Extent(variable));
  found_.program.result.strides.push_back(
      variable < 0 ? Size(0) : sum_.sums().Coefficient(variable));
  found_.result_variables.push_back(variable);
}

void ConvolutionMatcher::FillOperand(const Access& access,
                                     VendorTensor* tensor) const {
  *tensor = {};
  int64_t stride = 1;
  for (const Dim& dim : sum_.region().inputs[access.number].dims) {
    tensor->dims.push_back(dim.constant());
  }
  tensor->strides.resize(tensor->dims.size());
  for (size_t d = tensor->dims.size(); d-- > 0;) {
    tensor->strides[d] = stride;
    stride *= tensor->dims[d];
  }
}

bool ConvolutionMatcher::Match() {
  VendorProgram& p = found_.program;
  p.kind = VendorProgram::Kind::kConvolution;
  const Access& source = sum_.Load(found_.source);
  const Access& weights = sum_.Load(found_.weights);
  const size_t rank = source.indices.size();
  if (rank < 3 || rank > 5 || weights.indices.size() != rank ||
      weights.checked || !weights_[weights.number]) {
    return false;
  }
  if (source.fill.valid()) {
    const Expr& fill = sum_.region().expr(source.fill);
    if (fill.kind != Expr::Kind::kConstant || fill.bits != 0) return false;
  }
  // The roles below are of the region's own variables.
  for (size_t v = 0; v < sum_.region().extents.size(); ++v) {
    if (sum_.region().extents[v] != Dim(sum_.flat().extents[v])) return false;
  }
  found_.pack = true;
  FillOperand(source, &p.source);
  FillOperand(weights, &p.weights);
  const std::optional<int> n = Single(source.indices[0], 1);
  if (!n || sum_.Extent(*n) != p.source.dims[0]) return false;
  AddResultDim(*n);
  if (!MatchChannels(source.indices[1], weights.indices[0])) return false;
  for (size_t d = 2; d < rank; ++d) {
    if (!MatchSpatial(d, source.indices[d], weights.indices[d])) return false;
  }
  DropUnitDims();
  p.result.offset = sum_.sums().offset;
  MakeDense(&p.result);
  // Every variable has had its role.
  int64_t points = 1, sums = 1;
  for (const uint32_t v : sum_.flat().outer) points *= sum_.Extent(v);
  for (const int64_t extent : p.result.dims) sums *= extent;
  return points == sums;
}

void ConvolutionMatcher::DropUnitDims() {
  VendorProgram& p = found_.program;
  for (size_t d = p.result.dims.size(); d-- > 2 && p.result.dims.size() > 3;) {
    if (p.source.dims[d] != 1 || p.weights.dims[d] != 1 ||
        p.result.dims[d] != 1) {
      continue;
    }
    for (VendorTensor* tensor : {&p.source, &p.weights, &p.result}) {
      tensor->dims.erase(tensor->dims.begin() + d);
      tensor->strides.erase(tensor->strides.begin() + d);
    }
    for (auto* list :
         {&p.strides, &p.dilations, &p.padding_low, &p.padding_high}) {
      list->erase(list->begin() + (d - 2));
    }
    found_.result_variables.erase(found_.result_variables.begin() + d);
  }
}

bool ConvolutionMatcher::MatchChannels(const Index& source,
                                       const Index& weights) {
  VendorProgram& p = found_.program;
  const std::optional<int> channel =
      Single(sum_.Load(found_.weights).indices[1], 1);
  if (!channel || sum_.Extent(*channel) != p.weights.dims[1]) return false;
  int group = -1, out = -1;
  for (const Index* index : {&source, &weights}) {
    if (index->indirect.valid() || index->divisor != 1 ||
        index->offset != Dim(0)) {
      return false;
    }
  }
  for (const Index::Term& term : source.terms) {
    if (static_cast<int>(term.variable) == *channel) {
      if (term.stride != Dim(1)) return false;
    } else if (group >= 0 || term.stride != Dim(p.weights.dims[1])) {
      return false;
    } else {
      group = static_cast<int>(term.variable);
    }
  }
  p.groups = sum_.Extent(group);
  const int64_t per_group = p.weights.dims[0] / p.groups;
  for (const Index::Term& term : weights.terms) {
    if (static_cast<int>(term.variable) == group) {
      if (term.stride != Dim(per_group)) return false;
    } else if (out >= 0 || term.stride != Dim(1)) {
      return false;
    } else {
      out = static_cast<int>(term.variable);
    }
  }
  if (sum_.Extent(out) * p.groups != p.weights.dims[0] ||
      p.groups * p.weights.dims[1] != p.source.dims[1]) {
    return false;
  }
  AddResultDim(out < 0 ? group : out);
  if (group < 0 || out < 0) return true;
  // No single variable runs along the result's channels.
  p.result.dims.back() = p.weights.dims[0];
  found_.result_variables.back() = -1;
  return sum_.sums().Coefficient(group) == p.result.strides.back() * per_group;
}

bool ConvolutionMatcher::MatchSpatial(size_t d, const Index& position,
                                      const Index& window) {
  VendorProgram& p = found_.program;
  const std::optional<int> inner = Single(window, 1);
  if (!inner || sum_.Extent(*inner) != p.weights.dims[d] ||
      position.indirect.valid() || position.divisor != 1 ||
      !position.offset.is_constant() || position.offset.constant() > 0) {
    return false;
  }
  int outer = -1;
  int64_t stride = 1, dilation = 1;
  for (const Index::Term& term : position.terms) {
    if (!term.stride.is_constant() || term.stride.constant() < 1) return false;
    if (static_cast<int>(term.variable) == *inner) {
      dilation = term.stride.constant();
    } else if (outer >= 0) {
      return false;
    } else {
      outer = static_cast<int>(term.variable);
      stride = term.stride.constant();
    }
  }
  const int64_t low = -position.offset.constant();
  const int64_t covered = (sum_.Extent(outer) - 1) * stride +
                          (p.weights.dims[d] - 1) * dilation + 1;
  // What is beyond the last window is not part of the source.
  int64_t high = covered - low - p.source.dims[d];
  if (high < 0) {
    p.source.dims[d] += high;
    high = 0;
  }
  p.strides.push_back(stride);
  p.dilations.push_back(dilation);
  p.padding_low.push_back(low);
  p.padding_high.push_back(high);
  AddResultDim(outer);
  return p.source.dims[d] > 0;
}

}  // namespace

std::optional<VendorContraction> MatchConvolution(
    const SumRegion& sum, const std::vector<bool>& weights) {
  ConvolutionMatcher matcher(sum, weights);
  if (!matcher.Match()) return std::nullopt;
  return matcher.Take();
}

}  // namespace encore::backends::cpu
