#include "encore/backends/lowering/paired_times.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "encore/ir/support/status_macros.h"

namespace encore::backends {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// One half: the least seconds of both; nothing where the deadline comes first.
StatusOr<std::optional<std::pair<double, double>>> TimeHalf(
    const TimeOnce& incumbent, const TimeOnce& other, const PairedTurns& turns,
    Clock::time_point deadline) {
  const Clock::time_point start = Clock::now();
  std::pair<double, double> least = {kInfinite, kInfinite};
  for (int i = 0; i < turns.most; ++i) {
    const Clock::time_point now = Clock::now();
    if (i >= turns.least && now - start > turns.half) break;
    if (now >= deadline) return std::nullopt;
    ENCORE_ASSIGN_OR_RETURN(const double a, incumbent());
    ENCORE_ASSIGN_OR_RETURN(const double b, other());
    least = {std::min(least.first, a), std::min(least.second, b)};
  }
  return least;
}

}  // namespace

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Clock::time_point DeadlineIn(double seconds) {
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> most = Clock::time_point::max() - now;
  if (!(seconds < most.count() / 2)) return Clock::time_point::max();
  return now + std::chrono::duration_cast<Clock::duration>(
                   std::chrono::duration<double>(seconds));
}

StatusOr<std::optional<double>> TimeInPairs(const TimeOnce& incumbent,
                                            const TimeOnce& other,
                                            const PairedTurns& turns,
                                            Clock::time_point deadline,
                                            double* incumbent_seconds) {
  double seconds = 0;
  for (int half = 0; half < 2; ++half) {
    ENCORE_ASSIGN_OR_RETURN(const auto least,
                            TimeHalf(incumbent, other, turns, deadline));
    if (!least) return std::nullopt;
    *incumbent_seconds = std::min(*incumbent_seconds, least->first);
    seconds = std::max(seconds, least->second);
  }
  return seconds;
}

}  // namespace encore::backends
