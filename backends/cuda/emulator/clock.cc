#include "encore/backends/cuda/emulator/clock.h"

#include <algorithm>
#include <utility>

namespace encore::ptx {
namespace {

void JoinInto(const EpochMap& from, EpochMap* to) {
  for (const auto& [warp, epoch] : from) {
    uint32_t& known = (*to)[warp];
    known = std::max(known, epoch);
  }
}

}  // namespace

void Clock::Reset(uint32_t first, uint32_t count, uint32_t index) {
  first_ = first;
  index_ = index;
  block_.assign(count, 0);
  block_[index] = 1;
  elsewhere_.reset();
}

uint32_t Clock::SeenElsewhere(uint32_t warp) const {
  if (elsewhere_ == nullptr) return 0;
  const auto found = elsewhere_->find(warp);
  return found == elsewhere_->end() ? 0 : found->second;
}

void Clock::JoinBlock(const Clock& other) {
  for (size_t i = 0; i < block_.size(); ++i) {
    block_[i] = std::max(block_[i], other.block_[i]);
  }
  if (other.elsewhere_ == nullptr || other.elsewhere_ == elsewhere_) return;
  if (elsewhere_ == nullptr) {
    elsewhere_ = other.elsewhere_;
    return;
  }
  auto joined = std::make_shared<EpochMap>(*elsewhere_);
  JoinInto(*other.elsewhere_, joined.get());
  elsewhere_ = std::move(joined);
}

void Clock::Join(const EpochMap& published) {
  auto joined = std::make_shared<EpochMap>();
  if (elsewhere_ != nullptr) *joined = *elsewhere_;
  for (const auto& [warp, epoch] : published) {
    if (SameBlock(warp)) {
      uint32_t& known = block_[warp - first_];
      known = std::max(known, epoch);
    } else {
      uint32_t& known = (*joined)[warp];
      known = std::max(known, epoch);
    }
  }
  elsewhere_ = std::move(joined);
}

void Clock::PublishTo(EpochMap* published) const {
  for (size_t i = 0; i < block_.size(); ++i) {
    if (block_[i] == 0) continue;
    uint32_t& known = (*published)[first_ + static_cast<uint32_t>(i)];
    known = std::max(known, block_[i]);
  }
  if (elsewhere_ != nullptr) JoinInto(*elsewhere_, published);
}

}  // namespace encore::ptx
