#include "encore/tools/latency.h"

#include <algorithm>
#include <cstddef>

namespace encore::tools {

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

}  // namespace encore::tools
