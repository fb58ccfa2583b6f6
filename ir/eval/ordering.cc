#include <algorithm>
#include <numeric>

#include "encore/ir/eval/families.h"
#include "encore/ir/eval/numbers.h"

namespace encore::eval {
namespace {

// NaN counts as the largest.
template <typename W>
bool Less(W a, W b) {
  if constexpr (std::is_floating_point_v<W>) {
    if (a != a) return false;
    if (b != b) return true;
  }
  return a < b;
}

}  // namespace

Results EvaluateArgSort(const EvalContext& context) {
  const ArgSortAttrs& attrs = context.attrs<ArgSortAttrs>();
  Literal result = context.NewResult();
  const int64_t stride = RowMajorStrides(result.dims())[attrs.axis];
  const int64_t extent = result.dims()[attrs.axis];
  WithDomain(context.dtype(), [&](auto wide) {
    const auto values = DecodeAll<decltype(wide)>(context.operand(0));
    std::vector<int64_t> order(extent);
    for (int64_t row = 0; row < result.element_count() / extent; ++row) {
      const int64_t base = row / stride * stride * extent + row % stride;
      const auto before = [&](int64_t i, int64_t j) {
        const auto a = values[base + i * stride], b = values[base + j * stride];
        if (Less(a, b)) return !attrs.descending;
        return Less(b, a) ? attrs.descending : i < j;
      };
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), before);
      for (int64_t i = 0; i < extent; ++i) {
        result.SetInt(base + i * stride, order[i]);
      }
    }
  });
  return Literals{std::move(result)};
}

}  // namespace encore::eval
