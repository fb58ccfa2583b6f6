#include "encore/opt/extract/search.h"

#include <utility>

#include "encore/opt/extract/checker.h"
#include "encore/opt/extract/greedy.h"

namespace encore::opt::extract {

Budget Budget::Slice(double share, double seconds) const {
  if (deadline_) {
    const auto now = Clock::now();
    const double left = std::chrono::duration<double>(*deadline_ - now).count();
    const double length = std::max(0.0, std::min(left * share, seconds));
    return Budget(now + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(length)),
                  interrupt_);
  }
  const double left = static_cast<double>(work_left_);
  return Budget(
      static_cast<uint64_t>(std::min(left * share, seconds * kWorkPerSecond)),
      interrupt_);
}

double Budget::ShareUsed() const {
  if (deadline_) {
    const auto used = Clock::now() - begin_, all = *deadline_ - begin_;
    return all.count() <= 0 ? 1
                            : std::min(1.0, 1.0 * used.count() / all.count());
  }
  const double all = static_cast<double>(spent_) + work_left_;
  return all == 0 ? 1 : spent_ / all;
}

MipLimits Budget::Limits(uint64_t seed) const {
  MipLimits limits;
  limits.deadline = deadline_;
  if (!deadline_) limits.iterations = 1 + work_left_ / kWorkPerIteration;
  limits.interrupt = interrupt_;
  limits.seed = seed;
  return limits;
}

bool Solved::Improve(const Problem& problem, const Selection& candidate) {
  if (candidate.empty()) return false;
  const StatusOr<double> candidate_cost = CheckedCost(problem, candidate);
  if (!candidate_cost.ok() || !(*candidate_cost < cost)) return false;
  selection = candidate;
  cost = *candidate_cost;
  return true;
}

Selection Adopt(const Problem& problem, const ProblemIndex& index,
                const Selection& choice) {
  Problem restricted = problem;
  for (ClassIndex c = 0; c < problem.num_classes(); ++c) {
    if (choice[c] == kNoNode) continue;
    for (NodeIndex n = problem.class_start[c]; n < problem.class_start[c + 1];
         ++n) {
      if (n != choice[c]) {
        restricted.cost[n] = std::numeric_limits<double>::infinity();
      }
    }
  }
  Selection adopted = BottomUpTree(restricted, index).choice;
  if (CheckedCost(problem, adopted).ok()) return adopted;
  return {};
}

}  // namespace encore::opt::extract
