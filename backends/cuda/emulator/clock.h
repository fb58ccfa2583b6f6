// What a warp knows to have happened: a vector clock over the warps of a grid.
//
// Each warp counts epochs; it begins a new one at every point that orders its
// accesses for others. An access of warp w in epoch e happened before a warp's
// next step where that warp's clock has seen e of w. A clock is dense for the
// warps of its own block and sparse for those of others, of which a warp hears
// through atomics and fences only. After C. Flanagan, S. Freund, FastTrack:
// Efficient and Precise Dynamic Race Detection, PLDI 2009, with warps for
// threads.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_CLOCK_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_CLOCK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace encore::ptx {

// Epochs by the warp's number in the grid.
using EpochMap = std::map<uint32_t, uint32_t>;

class Clock {
 public:
  // Of warp `index` of the block whose first warp is `first` and which has
  // `count`.
  void Reset(uint32_t first, uint32_t count, uint32_t index);

  uint32_t warp() const { return first_ + index_; }
  uint32_t epoch() const { return block_[index_]; }
  uint32_t Seen(uint32_t warp) const {
    if (SameBlock(warp)) return block_[warp - first_];
    return SeenElsewhere(warp);
  }
  bool SameBlock(uint32_t warp) const { return warp - first_ < block_.size(); }
  void BeginEpoch() { ++block_[index_]; }

  // Learns what another warp of the block knows, its present epoch too.
  void JoinBlock(const Clock& other);
  // Learns what was published.
  void Join(const EpochMap& published);
  // Publishes all that is known.
  void PublishTo(EpochMap* published) const;

 private:
  uint32_t SeenElsewhere(uint32_t warp) const;

  uint32_t first_ = 0;
  uint32_t index_ = 0;
  std::vector<uint32_t> block_;
  std::shared_ptr<const EpochMap> elsewhere_;
};

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_CLOCK_H_
