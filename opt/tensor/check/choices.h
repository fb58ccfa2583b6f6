// Choices: the numbers that a random thing is drawn by, kept, so that a smaller
// thing is the one that smaller numbers give ("internal test case reduction",
// MacIver and Donaldson, ECOOP 2020). Whoever draws lets 0 stand for what is
// simplest.
#ifndef ENCORE_OPT_TENSOR_CHECK_CHOICES_H_
#define ENCORE_OPT_TENSOR_CHECK_CHOICES_H_

#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

namespace encore::opt {

class Choices {
 public:
  // Random ones, the same for the same seed everywhere.
  explicit Choices(uint64_t seed) : random_(seed) {}
  // These, each at most what is asked for, and then 0.
  explicit Choices(std::vector<int64_t> given)
      : replays_(true), given_(std::move(given)) {}

  // In [0, limit); REQUIRES limit > 0.
  int64_t Below(int64_t limit);
  // True so often; false is simpler.
  bool Chance(int percent) { return Below(100) >= 100 - percent; }

  // Those that were made so far, in order.
  const std::vector<int64_t>& made() const { return made_; }

 private:
  std::mt19937_64 random_;
  bool replays_ = false;
  std::vector<int64_t> given_, made_;
};

// The smallest choices that greedy steps reach from `choices`: some left out,
// set to 0, made smaller. `accept` says whether choices still give what is
// wanted and are to be taken in place of the last ones that were; it is asked
// at most `attempts` times. It may give smaller ones in place of those that it
// was asked about, as not all may have been used.
std::vector<int64_t> Shrink(
    std::vector<int64_t> choices, int attempts,
    const std::function<bool(std::vector<int64_t>* choices)>& accept);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_CHECK_CHOICES_H_
