// Deadline: when to stop by the clock, and whether anything stopped for it.
#ifndef ENCORE_OPT_TENSOR_DEADLINE_H_
#define ENCORE_OPT_TENSOR_DEADLINE_H_

#include <chrono>

namespace encore::opt {

// Not thread-safe.
class Deadline {
 public:
  // `seconds` from now.
  explicit Deadline(double seconds)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(seconds))) {}

  // At least 0.
  double SecondsLeft() const {
    const std::chrono::duration<double> left = end_ - Clock::now();
    return left.count() > 0 ? left.count() : 0;
  }
  // Of who asks in order to stop, which is so a result of the clock.
  bool Passed() {
    if (SecondsLeft() > 0) return false;
    CutShort();
    return true;
  }
  void CutShort() { cut_short_ = true; }
  bool cut_short() const { return cut_short_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end_;
  bool cut_short_ = false;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_DEADLINE_H_
