#include "encore/backends/lowering/made_up_data.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

namespace encore::backends {
namespace {

// Data repeat after so many elements.
constexpr int64_t kPeriod = 4093;

// Floats in [-1, 1), small integers: indices stay within what they index.
Literal Period(DType dtype, uint64_t seed) {
  Literal values(dtype, {kPeriod});
  uint64_t state = seed;
  for (int64_t i = 0; i < kPeriod; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto bits = static_cast<int64_t>(state >> 33);
    if (IsFloat(dtype)) {
      values.SetDouble(i, static_cast<double>(bits) * 0x1p-30 - 1);
    } else {
      values.SetInt(i, bits >> 20 & (dtype == DType::kBool ? 1 : 3));
    }
  }
  return values;
}

}  // namespace

Literal MadeUpData(DType dtype, std::vector<int64_t> dims, uint64_t seed) {
  Literal data(dtype, std::move(dims));
  const Literal period = Period(dtype, seed);
  const std::span<std::byte> to = data.mutable_bytes();
  const std::span<const std::byte> from = period.bytes();
  for (size_t at = 0; at < to.size(); at += from.size()) {
    std::memcpy(to.data() + at, from.data(),
                std::min(from.size(), to.size() - at));
  }
  return data;
}

}  // namespace encore::backends
