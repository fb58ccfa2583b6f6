// A problem under search: its best solution and bound, and what may be spent.
#ifndef ENCORE_OPT_EXTRACT_SEARCH_H_
#define ENCORE_OPT_EXTRACT_SEARCH_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

#include "encore/opt/extract/mip.h"
#include "encore/opt/extract/problem.h"

namespace encore::opt::extract {

// How much may still be spent: wall-clock time, or work where that is limited.
// Slices of it are budgets too.
class Budget {
 public:
  using Clock = std::chrono::steady_clock;

  Budget(Clock::time_point deadline, const std::atomic<bool>* interrupt)
      : deadline_(deadline), interrupt_(interrupt) {}
  Budget(uint64_t work, const std::atomic<bool>* interrupt)
      : work_left_(work), interrupt_(interrupt) {}

  bool reproducible() const { return !deadline_; }

  bool Exhausted() const {
    if (interrupt_ != nullptr && interrupt_->load()) return true;
    return deadline_ ? Clock::now() >= *deadline_ : work_left_ == 0;
  }

  // Whether the deadline was missed by `seconds`; never for a budget of work.
  bool LateBy(double seconds) const {
    return deadline_ &&
           Clock::now() - *deadline_ >= std::chrono::duration<double>(seconds);
  }

  void Spend(uint64_t work) {
    spent_ += work;
    work_left_ -= std::min(work, work_left_);
  }
  uint64_t spent() const { return spent_; }
  // How much of it is spent, from 0 to 1.
  double ShareUsed() const;

  // What a method may do that would do so much: where work is limited, at most
  // half of what is left.
  uint64_t WorkOf(uint64_t most) const {
    return deadline_ || greedy_first_ ? most : std::min(most, work_left_ / 2);
  }

  // Options::greedy_first, of this budget, not of its slices.
  bool greedy_first() const { return greedy_first_; }
  void set_greedy_first(bool greedy_first) { greedy_first_ = greedy_first; }

  // A share of what is left, at most `seconds` (or their equal in work). What
  // is spent of the slice must be given to Spend().
  Budget Slice(double share, double seconds) const;

  // The same as limits of the exact solver.
  MipLimits Limits(uint64_t seed) const;

  // What a simplex iteration counts as in evaluations, and what a second stands
  // for where a length in seconds is asked of a budget of work.
  static constexpr uint64_t kWorkPerIteration = 50;
  static constexpr double kWorkPerSecond = 1e6;

 private:
  std::optional<Clock::time_point> deadline_;
  Clock::time_point begin_ = Clock::now();
  uint64_t work_left_ = std::numeric_limits<uint64_t>::max();
  uint64_t spent_ = 0;
  bool greedy_first_ = false;
  const std::atomic<bool>* interrupt_;
};

// Told the cost and the bound so far.
using ReportFunction = std::function<void(double cost, double bound)>;

// A solution and what is known of the optimum.
struct Solved {
  Selection selection;  // empty: none
  double cost = std::numeric_limits<double>::infinity();
  double bound = -std::numeric_limits<double>::infinity();
  bool optimal = false;

  // Takes `candidate` where it is a solution of `problem` and cheaper.
  // Returns whether it did.
  bool Improve(const Problem& problem, const Selection& candidate);
};

// `selection`, of a problem that `problem` was reduced from, as a solution of
// `problem`: its choices where they are still there, the cheapest tree
// elsewhere. Empty where that is no solution. `choice` per class of `problem`,
// kNoNode where its node is gone or there was none.
Selection Adopt(const Problem& problem, const ProblemIndex& index,
                const Selection& choice);

}  // namespace encore::opt::extract

#endif  // ENCORE_OPT_EXTRACT_SEARCH_H_
