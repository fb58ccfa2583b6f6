#include "encore/tools/latency.h"

#include <algorithm>
#include <cstddef>

namespace encore::tools {

Latency Percentiles(std::vector<double> microseconds) {
  std::sort(microseconds.begin(), microseconds.end());
  const auto at = [&](double fraction) {
    const double position =
        fraction * static_cast<double>(microseconds.size() - 1);
    return microseconds[static_cast<size_t>(position + 0.5)];
  };
  return {microseconds.front(), at(0.5), at(0.9), at(0.99)};
}

}  // namespace encore::tools
