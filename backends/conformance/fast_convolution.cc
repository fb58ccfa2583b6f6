#include "encore/backends/conformance/fast_convolution.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "encore/ir/types/float_formats.h"

namespace encore::backends {
namespace {

double Magnitude(const Interval& x, int64_t i) {
  return std::max(std::abs(x.low.AsDouble(i)), std::abs(x.high.AsDouble(i)));
}

// The elements behind the first two dims.
int64_t InnerCount(const Interval& x) {
  const std::vector<int64_t>& dims = x.low.dims();
  int64_t count = 1;
  for (size_t d = 2; d < dims.size(); ++d) count *= dims[d];
  return count;
}

// By the first two dims: the norm of what is behind them, NaN where that has
// one.
std::vector<double> Norms(const Interval& x, bool maximum) {
  const int64_t inner = InnerCount(x);
  std::vector<double> norms(x.low.dims()[0] * x.low.dims()[1]);
  for (size_t n = 0; n < norms.size(); ++n) {
    for (int64_t i = 0; i < inner; ++i) {
      const double value = Magnitude(x, static_cast<int64_t>(n) * inner + i);
      norms[n] = !maximum || std::isnan(value) || std::isnan(norms[n])
                     ? norms[n] + value
                     : std::max(norms[n], value);
    }
  }
  return norms;
}

}  // namespace

Interval WithFast(const Interval& direct, std::span<const Interval> operands,
                  const FastConvolution& fast) {
  const std::vector<double> data = Norms(operands[0], /*maximum=*/true);
  const std::vector<double> filters = Norms(operands[1], /*maximum=*/false);
  const int64_t channels = operands[0].low.dims()[1];
  const int64_t rows = operands[1].low.dims()[0];
  const int64_t inner = InnerCount(direct);
  const double u = Epsilon(DType::kF32) / 2;
  const double k = static_cast<double>(channels + fast.roundings);
  const double gamma = k * u / (1 - k * u);
  int64_t element = 0;
  return WithEnds(direct, [&](double* low, double* high) {
    const int64_t plane = element++ / inner;
    const double* d = &data[plane / rows * channels];
    const double* g = &filters[plane % rows * channels];
    double most = 0;
    for (int64_t c = 0; c < channels; ++c) most += d[c] * g[c];
    most *= fast.growth;
    if (!(most <= LargestFinite(DType::kF32))) {
      *low = -INFINITY;
      *high = INFINITY;
      return;
    }
    // The bound is on what is computed of any operands in their intervals.
    *low -= gamma * most;
    *high += gamma * most;
    IncludeRounded(DType::kF32, low, high);
  });
}

}  // namespace encore::backends
