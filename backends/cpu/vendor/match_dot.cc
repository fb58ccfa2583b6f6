#include "encore/backends/cpu/vendor/match_dot.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace encore::backends::cpu {
namespace {

constexpr size_t kMostBatchDims = 3;

void AddDim(VendorTensor* tensor, int64_t extent, int64_t stride) {
  tensor->dims.push_back(extent);
  tensor->strides.push_back(stride);
}

class DotMatcher {
 public:
  DotMatcher(const SumRegion& sum, const std::vector<bool>& weights)
      : sum_(sum), weights_(weights) {
    found_.source = sum.lhs();
    found_.weights = sum.rhs();
  }

  bool Match();
  VendorContraction Take() { return std::move(found_); }

 private:
  void Fill(int m, int n, int k, const std::vector<uint32_t>& batch);

  const SumRegion& sum_;
  const std::vector<bool>& weights_;
  VendorContraction found_;
};

bool DotMatcher::Match() {
  const FlatAccess* a = &sum_.FlatLoad(found_.source);
  const FlatAccess* b = &sum_.FlatLoad(found_.weights);
  if (!a->dynamic.empty() || !b->dynamic.empty() || a->address.offset < 0 ||
      b->address.offset < 0) {
    return false;
  }
  const std::vector<uint32_t>& reduced = sum_.flat().reduced[0];
  if (reduced.size() > 1) return false;
  std::vector<uint32_t> rows, columns, batch;
  for (const uint32_t v : sum_.flat().outer) {
    const int64_t x = a->address.Coefficient(v), y = b->address.Coefficient(v);
    if (x < 0 || y < 0 || (x == 0 && y == 0)) return false;
    (y == 0 ? rows : x == 0 ? columns : batch).push_back(v);
  }
  const auto dense = [&](uint32_t v) {
    return sum_.sums().Coefficient(v) == 1;
  };
  const auto main = [&](const std::vector<uint32_t>& list) {
    int best = -1;
    for (const uint32_t v : list) {
      if (dense(v)) return static_cast<int>(v);
      if (best < 0 || sum_.Extent(v) > sum_.Extent(best)) {
        best = static_cast<int>(v);
      }
    }
    return best;
  };
  int m = main(rows), n = main(columns);
  if (m >= 0 && dense(m)) {
    std::swap(found_.source, found_.weights);
    std::swap(m, n);
    std::swap(rows, columns);
  }
  if (n < 0 || !dense(n)) return false;
  for (const auto* list : {&rows, &columns}) {
    for (const uint32_t v : *list) {
      if (static_cast<int>(v) != m && static_cast<int>(v) != n) {
        batch.push_back(v);
      }
    }
  }
  if (batch.size() > kMostBatchDims) return false;
  std::sort(batch.begin(), batch.end());
  const int k = reduced.empty() ? -1 : static_cast<int>(reduced[0]);
  Fill(m, n, k, batch);
  const VendorProgram& p = found_.program;
  const size_t last = p.result.dims.size() - 1;
  const auto plain = [last](const VendorTensor& tensor) {
    return tensor.strides[last] == 1 || tensor.strides[last - 1] == 1;
  };
  return plain(p.source) && (found_.pack || plain(p.weights)) &&
         (k < 0 || (sum_.FlatLoad(found_.source).address.Coefficient(k) > 0 &&
                    sum_.FlatLoad(found_.weights).address.Coefficient(k) > 0));
}

void DotMatcher::Fill(int m, int n, int k, const std::vector<uint32_t>& batch) {
  VendorProgram& p = found_.program;
  p.kind = VendorProgram::Kind::kMatmul;
  const Affine& a = sum_.FlatLoad(found_.source).address;
  const Affine& b = sum_.FlatLoad(found_.weights).address;
  found_.pack = weights_[sum_.Load(found_.weights).number];
  for (const uint32_t v : batch) {
    AddDim(&p.source, a.Coefficient(v) == 0 ? 1 : sum_.Extent(v),
           a.Coefficient(v));
    AddDim(&p.weights, b.Coefficient(v) == 0 ? 1 : sum_.Extent(v),
           b.Coefficient(v));
    AddDim(&p.result, sum_.Extent(v), sum_.sums().Coefficient(v));
    found_.result_variables.push_back(static_cast<int>(v));
    if (b.Coefficient(v) != 0) found_.pack = false;
  }
  // A dim of extent 1 gets the stride that makes its tensor dense.
  const auto two = [this](VendorTensor* tensor, const Affine& address,
                          int first, int second) {
    int64_t outer = first < 0 ? Size(0) : address.Coefficient(first);
    int64_t inner = second < 0 ? Size(0) : address.Coefficient(second);
    if (second < 0)
      inner = outer == 1 ? std::max<int64_t>(sum_.Extent(first), 1) : 1;
    if (first < 0) outer = inner == 1 ? sum_.Extent(second) : 1;
    AddDim(tensor, sum_.Extent(first), outer);
    AddDim(tensor, sum_.Extent(second), inner);
    tensor->offset = address.offset;
  };
  two(&p.source, a, m, k);
  two(&p.weights, b, k, n);
  two(&p.result, sum_.sums(), m, n);
  // A tensor that a batch dim does not move in is broadcast along it.
  for (VendorTensor* tensor : {&p.source, &p.weights}) {
    int64_t size = 1;
    for (size_t d = 0; d < tensor->dims.size(); ++d) {
      size = std::max(size, tensor->dims[d] * tensor->strides[d]);
    }
    for (size_t d = 0; d < batch.size(); ++d) {
      if (tensor->dims[d] == 1) tensor->strides[d] = size;
    }
  }
  found_.result_variables.push_back(m);
  found_.result_variables.push_back(n);
}

}  // namespace

std::optional<VendorContraction> MatchDot(const SumRegion& sum,
                                          const std::vector<bool>& weights) {
  DotMatcher matcher(sum, weights);
  if (!matcher.Match()) return std::nullopt;
  return matcher.Take();
}

}  // namespace encore::backends::cpu
