// What is reported of measured times.
#ifndef ENCORE_TOOLS_LATENCY_H_
#define ENCORE_TOOLS_LATENCY_H_

#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace encore::tools {

inline double MillisecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now() - begin)
      .count();
}

// Latencies in microseconds.
struct Latency {
  double min = 0, median = 0, p90 = 0, p99 = 0;
};

// The times of any number of replays in bounded memory: all of them up to
// kMost, beyond that every 2nd, 4th, … evenly over the whole run, and the least
// of all. Which ones are kept depends on their number alone: two that are added
// to by turns keep pairs.
class Times {
 public:
  static constexpr size_t kMost = size_t{1} << 20;

  void Add(double microseconds);
  int64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  std::span<const double> kept() const { return kept_; }
  // REQUIRES !empty().
  Latency Percentiles() const;

 private:
  std::vector<double> kept_;
  int64_t count_ = 0, stride_ = 1;
  double min_ = std::numeric_limits<double>::infinity();
};

// The median of values drawn independently from one distribution, whichever,
// and its 95 % confidence interval by the binomial distribution of how many
// values lie below it; infinite where there are fewer than 6. The benchmarks'
// scripts compute the same (tests/benchmarks/paired.py).
struct MedianInterval {
  double low = 0, median = 0, high = 0;
};
// REQUIRES !values.empty().
MedianInterval MedianWithInterval(std::vector<double> values);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_LATENCY_H_
