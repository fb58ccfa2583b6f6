// Times of tuning, of two things by turns: what disturbs a machine disturbs
// both.
#ifndef ENCORE_BACKENDS_LOWERING_PAIRED_TIMES_H_
#define ENCORE_BACKENDS_LOWERING_PAIRED_TIMES_H_

#include <chrono>
#include <functional>
#include <optional>

#include "encore/ir/support/status.h"

namespace encore::backends {

double SecondsSince(std::chrono::steady_clock::time_point begin);
// `seconds` from now, or the end of time.
std::chrono::steady_clock::time_point DeadlineIn(double seconds);

// Does it once; its seconds.
using TimeOnce = std::function<StatusOr<double>()>;

// How long each half of the turns is: at least so many, and then until there
// were so many or the time is over.
struct PairedTurns {
  int least, most;
  std::chrono::milliseconds half;
};

// The seconds of `other`: the larger of the least in either half of the turns,
// so that noise can only hide a gain. `incumbent_seconds` becomes the least of
// the incumbent's where that is less. Nothing where `deadline` comes first;
// errors are those of the two.
StatusOr<std::optional<double>> TimeInPairs(
    const TimeOnce& incumbent, const TimeOnce& other, const PairedTurns& turns,
    std::chrono::steady_clock::time_point deadline, double* incumbent_seconds);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_PAIRED_TIMES_H_
