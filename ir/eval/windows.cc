#include "encore/ir/eval/families.h"
#include "encore/ir/eval/numbers.h"
#include "encore/ir/support/integers.h"

namespace encore::eval {
namespace {

// Windows over every dim of the operand.
struct Windows {
  Ints window, strides, padding_low, dilations;
};

// The pool's windows, with windows of 1 over batch and channels.
Windows OfPool(const PoolAttrs& attrs) {
  const auto with = [](int64_t neutral, const Ints& list) {
    Ints all = {neutral, neutral};
    all.insert(all.end(), list.begin(), list.end());
    return all;
  };
  return {with(1, attrs.window), with(1, attrs.strides),
          with(0, attrs.padding_low), with(1, attrs.dilations)};
}

// Steps to the next index in row-major order; false past the end.
bool Next(std::span<const int64_t> dims, Ints* index) {
  for (int d = static_cast<int>(dims.size()) - 1; d >= 0; --d) {
    if (++(*index)[d] < dims[d]) return true;
    (*index)[d] = 0;
  }
  return false;
}

// Window entries in [first, end) of dim d lie within the operand.
struct Range {
  int64_t first, end;
};

Range Inside(const Windows& windows, int d, int64_t at, int64_t extent) {
  const int64_t origin = at * windows.strides[d] - windows.padding_low[d];
  const int64_t step = windows.dilations[d];
  const int64_t first = origin >= 0 ? 0 : CeilDiv(-origin, step);
  if (origin >= extent) return {0, 0};
  const int64_t end =
      std::min(windows.window[d], (extent - 1 - origin) / step + 1);
  return {first, std::max(first, end)};
}

// Calls f(result element, operand offset) for every element of each window.
template <typename F>
void ForEachEntry(std::span<const int64_t> dims,
                  std::span<const int64_t> result_dims, const Windows& windows,
                  F f) {
  const int rank = static_cast<int>(dims.size());
  for (const int64_t dim : result_dims) {
    if (dim == 0) return;
  }
  const std::vector<int64_t> strides = RowMajorStrides(dims);
  Ints index(rank), counts(rank), entry(rank);
  int64_t element = 0;
  do {
    int64_t base = 0;
    bool empty = false;
    for (int d = 0; d < rank; ++d) {
      const Range range = Inside(windows, d, index[d], dims[d]);
      counts[d] = range.end - range.first;
      empty |= counts[d] <= 0;
      base += (index[d] * windows.strides[d] - windows.padding_low[d] +
               range.first * windows.dilations[d]) *
              strides[d];
    }
    if (!empty) {
      do {
        int64_t offset = base;
        for (int d = 0; d < rank; ++d) {
          offset += entry[d] * windows.dilations[d] * strides[d];
        }
        f(element, offset);
      } while (Next(counts, &entry));
    }
    ++element;
  } while (Next(result_dims, &index));
}

template <typename W>
std::vector<W> Combined(const EvalContext& context, const Windows& windows,
                        Combiner combiner) {
  const std::vector<W> values = DecodeAll<W>(context.operand(0));
  const std::vector<int64_t> result_dims = context.result_dims();
  std::vector<W> sums(*ElementCount(result_dims),
                      Identity<W>(combiner, context.dtype()));
  ForEachEntry(context.dims(), result_dims, windows,
               [&](int64_t element, int64_t offset) {
                 sums[element] =
                     Combine(combiner, sums[element], values[offset]);
               });
  return sums;
}

Results ReduceWindows(const EvalContext& context, const Windows& windows,
                      Combiner combiner) {
  return WithDomain(context.dtype(), [&](auto wide) -> Results {
    return Literals{
        EncodeAll(context.dtype(), context.result_dims(),
                  Combined<decltype(wide)>(context, windows, combiner))};
  });
}

}  // namespace

Results EvaluateReduceWindow(const EvalContext& context) {
  const ReduceWindowAttrs& attrs = context.attrs<ReduceWindowAttrs>();
  return ReduceWindows(
      context,
      {attrs.window, attrs.strides, attrs.padding_low, attrs.dilations},
      attrs.combiner);
}

Results EvaluateMaxPool(const EvalContext& context) {
  return ReduceWindows(context, OfPool(context.attrs<PoolAttrs>()),
                       Combiner::kMax);
}

Results EvaluateAvgPool(const EvalContext& context) {
  const PoolAttrs& attrs = context.attrs<PoolAttrs>();
  const Windows windows = OfPool(attrs);
  std::vector<double> sums = Combined<double>(context, windows, Combiner::kSum);
  std::vector<double> counts(sums.size());
  if (attrs.count_padding) {
    double size = 1;
    for (const int64_t extent : attrs.window) {
      size *= static_cast<double>(extent);
    }
    counts.assign(sums.size(), size);
  } else {
    ForEachEntry(context.dims(), context.result_dims(), windows,
                 [&](int64_t element, int64_t) { ++counts[element]; });
  }
  for (size_t i = 0; i < sums.size(); ++i) sums[i] /= counts[i];
  return Literals{EncodeAll(context.dtype(), context.result_dims(), sums)};
}

}  // namespace encore::eval
