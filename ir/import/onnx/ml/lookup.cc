#include "encore/ir/import/onnx/ml/lookup.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace encore::onnx {
namespace {

Value Numbers(GraphBuilder& g, const std::vector<int32_t>& numbers) {
  return g.Constant(Literal::Vector<int32_t>(numbers));
}

Value FindStrings(GraphBuilder& g, Value x, const Literal& keys) {
  if (keys.element_count() == 0) {
    return g.Full(x.shape(), g.Scalar(DType::kI32, int64_t{0}));
  }
  std::map<std::string, int32_t> last;
  for (int64_t i = 0; i < keys.element_count(); ++i) {
    last[keys.strings()[i]] = static_cast<int32_t>(i);
  }
  const auto missing = static_cast<int32_t>(keys.element_count());
  std::vector<std::string> words;
  std::vector<int32_t> offsets;  // from `missing`
  for (const auto& [word, number] : last) {
    words.push_back(word);
    offsets.push_back(number - missing);
  }
  const auto count = static_cast<int64_t>(words.size());
  Dims wide = x.shape().dims();
  wide.push_back(count);
  Ints axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  const Value all = g.Constant(Literal::Strings({count}, std::move(words)));
  const Value same =
      g.Node1(Op::kStringEqual, {g.Broadcast(x, Shape(wide), axes),
                                 g.Broadcast(all, Shape(wide), {x.rank()})});
  return g.Add(
      g.Sum(g.Mul(g.Cast(same, DType::kI32), Numbers(g, offsets)), {x.rank()}),
      missing);
}

// The keys without NaNs and duplicates in ascending order, each with its
// number. They are told apart as integers or as doubles, as their dtype is.
template <typename Number>
std::vector<std::pair<Number, int32_t>> Sorted(const Literal& keys) {
  std::map<Number, int32_t> last;
  for (int64_t i = 0; i < keys.element_count(); ++i) {
    Number key;
    if constexpr (std::is_integral_v<Number>) {
      key = keys.AsInt(i);
    } else {
      key = keys.AsDouble(i);
      if (std::isnan(key)) continue;
    }
    last[key] = static_cast<int32_t>(i);
  }
  return {last.begin(), last.end()};
}

// The number of the largest of `sorted` that is not above x, if x equals it.
// The tables have a power of two of entries, the last one repeated: each step
// halves what is left.
template <typename Number>
Value Search(GraphBuilder& g, Value x, int32_t missing,
             const std::vector<std::pair<Number, int32_t>>& sorted) {
  const Value none = g.Full(x.shape(), g.Scalar(DType::kI32, int64_t{missing}));
  if (sorted.empty()) return none;
  const auto size = static_cast<int64_t>(std::bit_ceil(sorted.size()));
  Literal keys(x.dtype(), {size});
  std::vector<int32_t> numbers(size);
  for (int64_t i = 0; i < size; ++i) {
    const auto& [key, number] = sorted[std::min<size_t>(i, sorted.size() - 1)];
    if constexpr (std::is_integral_v<Number>) {
      keys.SetInt(i, key);
    } else {
      keys.SetDouble(i, key);
    }
    numbers[i] = number;
  }
  const Value table = g.Constant(std::move(keys));
  Value at = g.Full(x.shape(), g.Scalar(DType::kI32, int64_t{0}));
  for (int64_t step = size / 2; step > 0; step /= 2) {
    const Value further = g.Add(at, step);
    at = g.Select(g.Compare(g.Take(table, further, 0), x, Comparison::kLe),
                  further, at);
  }
  const Value found = g.Compare(g.Take(table, at, 0), x, Comparison::kEq);
  return g.Select(found, g.Take(Numbers(g, numbers), at, 0), none);
}

}  // namespace

Value FindKeys(GraphBuilder& g, Value x, const Literal& keys) {
  const int64_t count = keys.element_count();
  const auto missing = static_cast<int32_t>(count);
  if (IsString(keys.dtype())) return FindStrings(g, x, keys);
  if (!IsFloat(keys.dtype())) {
    return Search(g, x, missing, Sorted<int64_t>(keys));
  }
  const Value found = Search(g, x, missing, Sorted<double>(keys));
  for (int64_t i = count - 1; i >= 0; --i) {
    if (std::isnan(keys.AsDouble(i))) return g.Select(g.IsNan(x), i, found);
  }
  return found;
}

}  // namespace encore::onnx
