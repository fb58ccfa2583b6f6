#include "encore/tools/latency.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace encore::tools {
namespace {

// The largest k for which the k-th least and the k-th greatest of `count`
// values hold the median between them in 95 % of all cases.
size_t IntervalRank(size_t count) {
  const auto n = static_cast<double>(count);
  double tail = 0;
  for (size_t k = 0; k < count / 2; ++k) {
    const auto i = static_cast<double>(k);
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) -
                     std::lgamma(n - i + 1) - n * std::log(2.0));
    if (2 * tail > 0.05) return k;
  }
  return count / 2;
}

}  // namespace

void Times::Add(double microseconds) {
  min_ = std::min(min_, microseconds);
  if (count_++ % stride_ != 0) return;
  kept_.push_back(microseconds);
  if (kept_.size() < kMost) return;
  for (size_t i = 0; i < kMost / 2; ++i) kept_[i] = kept_[2 * i];
  kept_.resize(kMost / 2);
  stride_ *= 2;
}

Latency Times::Percentiles() const {
  std::vector<double> sorted = kept_;
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double fraction) {
    const double position = fraction * static_cast<double>(sorted.size() - 1);
    return sorted[static_cast<size_t>(position + 0.5)];
  };
  return {min_, at(0.5), at(0.9), at(0.99)};
}

MedianInterval MedianWithInterval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t count = values.size(), k = IntervalRank(count);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {k > 0 ? values[k - 1] : -kInfinity,
          (values[(count - 1) / 2] + values[count / 2]) / 2,
          k > 0 ? values[count - k] : kInfinity};
}

}  // namespace encore::tools
