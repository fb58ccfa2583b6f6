#include "encore/opt/tensor/check/choices.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace encore::opt {
namespace {

class Shrinker {
 public:
  Shrinker(std::vector<int64_t> choices, int attempts,
           const std::function<bool(std::vector<int64_t>*)>& accept)
      : best_(std::move(choices)), attempts_(attempts), accept_(accept) {}

  std::vector<int64_t> Run() && {
    bool changed = true;
    while (changed && attempts_ > 0) {
      changed = false;
      for (const size_t length : {size_t{8}, size_t{4}, size_t{2}, size_t{1}}) {
        changed |= LeaveOut(length);
      }
      changed |= MakeZero(4);
      changed |= MakeZero(1);
      changed |= MakeSmaller();
      if (!changed) changed = MakeSmallerAndLeaveOut();
    }
    return std::move(best_);
  }

 private:
  bool Try(std::vector<int64_t> choices) {
    if (attempts_ <= 0 || choices == best_) return false;
    --attempts_;
    if (!accept_(&choices)) return false;
    best_ = std::move(choices);
    return true;
  }

  // From the end, as what comes last depends on most.
  bool LeaveOut(size_t length) {
    bool changed = false;
    for (size_t end = best_.size(); end >= length && attempts_ > 0; --end) {
      if (end > best_.size()) continue;
      std::vector<int64_t> choices = best_;
      choices.erase(choices.begin() + static_cast<ptrdiff_t>(end - length),
                    choices.begin() + static_cast<ptrdiff_t>(end));
      changed |= Try(std::move(choices));
    }
    return changed;
  }

  bool MakeZero(size_t length) {
    bool changed = false;
    for (size_t i = 0; i + length <= best_.size() && attempts_ > 0; ++i) {
      std::vector<int64_t> choices = best_;
      std::fill_n(choices.begin() + static_cast<ptrdiff_t>(i), length, 0);
      changed |= Try(std::move(choices));
    }
    return changed;
  }

  bool MakeSmaller() {
    bool changed = false;
    for (size_t i = 0; i < best_.size() && attempts_ > 0; ++i) {
      for (int64_t by = i < best_.size() ? best_[i] / 2 : 0; by > 0; by /= 2) {
        if (i >= best_.size() || best_[i] < by) break;
        std::vector<int64_t> choices = best_;
        choices[i] -= by;
        changed |= Try(std::move(choices));
      }
    }
    return changed;
  }

  // A number of things less, and what was drawn of one of them.
  bool MakeSmallerAndLeaveOut() {
    for (size_t i = 0; i < best_.size(); ++i) {
      if (best_[i] == 0) continue;
      for (size_t out = i + 1; out < best_.size() && attempts_ > 0; ++out) {
        std::vector<int64_t> choices = best_;
        --choices[i];
        for (int length = 0; length < 2 && out < choices.size(); ++length) {
          choices.erase(choices.begin() + static_cast<ptrdiff_t>(out));
          if (Try(choices)) return true;
        }
      }
    }
    return false;
  }

  std::vector<int64_t> best_;
  int attempts_;
  const std::function<bool(std::vector<int64_t>*)>& accept_;
};

}  // namespace

int64_t Choices::Below(int64_t limit) {
  int64_t choice = 0;
  if (!replays_) {
    choice = static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  } else if (made_.size() < given_.size()) {
    choice = std::clamp<int64_t>(given_[made_.size()], 0, limit - 1);
  }
  made_.push_back(choice);
  return choice;
}

std::vector<int64_t> Shrink(
    std::vector<int64_t> choices, int attempts,
    const std::function<bool(std::vector<int64_t>* choices)>& accept) {
  return Shrinker(std::move(choices), attempts, accept).Run();
}

}  // namespace encore::opt
