#include <algorithm>

#include "encore/ir/eval/copy.h"
#include "encore/ir/eval/families.h"
#include "encore/ir/eval/numbers.h"

namespace encore::eval {
namespace {

// Combines along axes; every result element starts from the identity.
template <typename W>
std::vector<W> ReduceAxes(const Literal& operand, Combiner combiner,
                          std::span<const int64_t> axes, int64_t count) {
  std::vector<W> sums(count, Identity<W>(combiner, operand.dtype()));
  const std::vector<int64_t>& dims = operand.dims();
  CopyPlan plan;
  plan.dims = dims;
  plan.src_strides = RowMajorStrides(dims);
  plan.dst_strides.resize(dims.size());
  int64_t stride = 1;
  for (int d = static_cast<int>(dims.size()) - 1; d >= 0; --d) {
    if (std::find(axes.begin(), axes.end(), d) != axes.end()) continue;
    plan.dst_strides[d] = stride;
    stride *= dims[d];
  }
  const std::vector<W> values = DecodeAll<W>(operand);
  const int64_t length = dims.empty() ? 1 : dims.back();
  const int64_t step = dims.empty() ? 0 : plan.dst_strides.back();
  ForEachRow(plan, [&](int64_t src, int64_t dst) {
    for (int64_t i = 0; i < length; ++i) {
      W& sum = sums[dst + i * step];
      sum = Combine(combiner, sum, values[src + i]);
    }
  });
  return sums;
}

// A tensor as [outer, axis, inner].
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;

  Lines(std::span<const int64_t> dims, int64_t axis) : length(dims[axis]) {
    for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i) {
      if (i < axis) outer *= dims[i];
      if (i > axis) inner *= dims[i];
    }
  }

  // Calls f(line number, offset of its first element); elements are `inner`
  // apart.
  template <typename F>
  void ForEach(F f) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        f(o * inner + i, o * length * inner + i);
      }
    }
  }
};

// Whether a comes before b for a maximum (minimum): NaN is beyond all.
template <typename W>
bool Beats(bool largest, W a, W b) {
  if constexpr (std::is_floating_point_v<W>) {
    if (b != b) return false;
    if (a != a) return true;
  }
  return largest ? a > b : a < b;
}

template <typename W>
bool SameRank(W a, W b) {
  return a == b || (a != a && b != b);
}

}  // namespace

Results EvaluateReduce(const EvalContext& context) {
  const ReduceAttrs& attrs = context.attrs<ReduceAttrs>();
  if (attrs.axes.empty()) return Literals{context.operand(0)};
  Literal result = context.NewResult();
  WithDomain(context.dtype(), [&](auto wide) {
    using W = decltype(wide);
    const std::vector<W> sums = ReduceAxes<W>(
        context.operand(0), attrs.combiner, attrs.axes, result.element_count());
    Encode<W>(sums.data(), 0, result.element_count(), &result);
  });
  return Literals{std::move(result)};
}

Results EvaluateMean(const EvalContext& context) {
  const Ints& axes = context.attrs<AxesAttrs>().axes;
  if (axes.empty()) return Literals{context.operand(0)};
  Literal result = context.NewResult();
  double count = 1;
  for (const int64_t axis : axes) {
    count *= static_cast<double>(context.dims()[axis]);
  }
  std::vector<double> sums = ReduceAxes<double>(
      context.operand(0), Combiner::kSum, axes, result.element_count());
  for (double& sum : sums) sum /= count;
  Encode<double>(sums.data(), 0, result.element_count(), &result);
  return Literals{std::move(result)};
}

Results EvaluateArgReduce(const EvalContext& context) {
  const ArgReduceAttrs& attrs = context.attrs<ArgReduceAttrs>();
  const bool largest = attrs.combiner == Combiner::kMax;
  Literal result = context.NewResult();
  WithDomain(context.dtype(), [&](auto wide) {
    using W = decltype(wide);
    const std::vector<W> values = DecodeAll<W>(context.operand(0));
    const Lines lines(context.dims(), attrs.axis);
    lines.ForEach([&](int64_t line, int64_t first) {
      int64_t best = 0;
      for (int64_t i = 1; i < lines.length; ++i) {
        const W value = values[first + i * lines.inner];
        const W other = values[first + best * lines.inner];
        if (Beats(largest, value, other) ||
            (attrs.last && SameRank(value, other))) {
          best = i;
        }
      }
      result.SetInt(line, best);
    });
  });
  return Literals{std::move(result)};
}

Results EvaluateCumulative(const EvalContext& context) {
  const CumulativeAttrs& attrs = context.attrs<CumulativeAttrs>();
  return WithDomain(context.dtype(), [&](auto wide) -> Results {
    using W = decltype(wide);
    std::vector<W> values = DecodeAll<W>(context.operand(0));
    const Lines lines(context.dims(), attrs.axis);
    lines.ForEach([&](int64_t, int64_t first) {
      W sum = Identity<W>(attrs.combiner, context.dtype());
      for (int64_t i = 0; i < lines.length; ++i) {
        const int64_t at = attrs.reverse ? lines.length - 1 - i : i;
        W& value = values[first + at * lines.inner];
        const W next = Combine(attrs.combiner, sum, value);
        value = attrs.exclusive ? sum : next;
        sum = next;
      }
    });
    return Literals{EncodeAll(context.dtype(), context.dims(), values)};
  });
}

}  // namespace encore::eval
