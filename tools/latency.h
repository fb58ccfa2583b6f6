// What is reported of measured times.
#ifndef ENCORE_TOOLS_LATENCY_H_
#define ENCORE_TOOLS_LATENCY_H_

#include <vector>

namespace encore::tools {

// Latencies in microseconds.
struct Latency {
  double min = 0, median = 0, p90 = 0, p99 = 0;
};

// The percentiles of a list of times; REQUIRES that it is not empty.
Latency Percentiles(std::vector<double> microseconds);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_LATENCY_H_
