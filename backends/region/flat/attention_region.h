// AttentionRegion: a region that is a product, a softmax over its last dim and
// another product, as the kernel that runs through the keys once looks at it.
//
//   scores   s[j] = f(sum over k of query[k] * key[j, k]), f elementwise: a
//            scale, masks, biases, a cap
//   weights  e^(s[j] - max s) / sum of e^(s - max s)
//   results  y[d] = sum over j of weights[j] * value[j, d], and an epilogue
//
// for every point of the outer variables. These are of two kinds: heads, which
// keys or values depend on, and rows, which share them, whatever the graph
// calls them: queries, heads of a group, images of a batch.
#ifndef ENCORE_BACKENDS_REGION_FLAT_ATTENTION_REGION_H_
#define ENCORE_BACKENDS_REGION_FLAT_ATTENTION_REGION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/region.h"

namespace encore::backends {

class AttentionRegion {
 public:
  // Nothing where the region is anything else, or has extents that are 0, key
  // or value dims of 1 element, checks of indices, an epilogue that needs more
  // than the results, or what is not computed in f32. `region` must outlive
  // this.
  static std::optional<AttentionRegion> Find(const Region& region);

  const Region& region() const { return *flat_.region; }
  const FlatRegion& flat() const { return flat_; }

  // Factors of the products; the query depends on no key.
  ExprId query() const { return query_; }
  ExprId key() const { return key_; }
  ExprId value() const { return value_; }
  // What the softmax is of, over the result of stage `products`.
  ExprId score() const { return score_; }

  // Stages: the first product's, the second one's; behind the latter are maps.
  size_t products() const { return products_; }
  size_t results() const { return results_; }

  // Variables; -1: of extent 1.
  int depth_variable() const { return depth_; }
  uint32_t key_variable() const { return key_variable_; }
  uint32_t column_variable() const { return column_; }
  const std::vector<uint32_t>& heads() const { return heads_; }
  const std::vector<uint32_t>& rows() const { return rows_; }

  int64_t depth() const { return depth_ < 0 ? Size(1) : flat_.extents[depth_]; }
  int64_t keys() const { return flat_.extents[key_variable_]; }
  int64_t columns() const { return flat_.extents[column_]; }
  int64_t head_count() const { return Points(heads_); }
  int64_t row_count() const { return Points(rows_); }

 private:
  AttentionRegion() = default;
  int64_t Points(const std::vector<uint32_t>& variables) const;
  bool FindStages();
  bool FindWeights(ExprId weight);
  bool FindProducts();
  bool ReadsOnly(const std::vector<ExprId>& roots,
                 std::optional<size_t> stage) const;
  bool FindVariables();
  bool IsPlain() const;
  // The stage whose result the expression is, where it is that.
  std::optional<uint32_t> StageOf(ExprId id) const;
  bool IsSum(size_t stage) const;
  ExprId WithoutCasts(ExprId id) const;

  FlatRegion flat_;
  ExprId query_, key_, value_, score_;
  size_t products_ = 0, maxima_ = 0, sums_ = 0, weights_ = 0, results_ = 0;
  int depth_ = -1;
  uint32_t key_variable_ = 0, column_ = 0;
  std::vector<uint32_t> heads_, rows_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_FLAT_ATTENTION_REGION_H_
