#include "encore/runtime/plan/owner_map.h"

#include <algorithm>
#include <utility>

namespace encore::runtime {

void OwnerMap::Split(int64_t at) {
  auto it = ranges_.upper_bound(at);
  if (it == ranges_.begin()) return;
  --it;
  if (it->first >= at || it->second.end <= at) return;
  ranges_.emplace_hint(std::next(it), at, it->second);
  it->second.end = at;
}

void OwnerMap::Set(int64_t begin, int64_t end, uint32_t owner) {
  if (begin >= end) return;
  Split(begin);
  Split(end);
  ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
  if (owner == kNobody) return;
  auto it = ranges_.insert({begin, {end, owner}}).first;
  // One range where neighbors have the same owner.
  if (const auto next = std::next(it); next != ranges_.end() &&
                                       next->first == end &&
                                       next->second.owner == owner) {
    it->second.end = next->second.end;
    ranges_.erase(next);
  }
  if (it == ranges_.begin()) return;
  const auto previous = std::prev(it);
  if (previous->second.end != begin || previous->second.owner != owner) return;
  previous->second.end = it->second.end;
  ranges_.erase(it);
}

bool OwnerMap::TakeFromOthers(int64_t begin, int64_t end, uint32_t owner) {
  if (begin >= end) return false;
  Split(begin);
  Split(end);
  bool took = false;
  for (auto it = ranges_.lower_bound(begin);
       it != ranges_.end() && it->first < end;) {
    if (it->second.owner == owner) {
      ++it;
    } else {
      it = ranges_.erase(it);
      took = true;
    }
  }
  return took;
}

std::optional<OwnerMap::Gap> OwnerMap::FindGap(int64_t begin, int64_t end,
                                               uint32_t owner) const {
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin()) --it;
  for (; begin < end; ++it) {
    if (it == ranges_.end()) return Gap{begin, kNobody};
    if (it->second.end <= begin) continue;
    if (it->first > begin) return Gap{begin, kNobody};
    if (it->second.owner != owner) return Gap{begin, it->second.owner};
    begin = it->second.end;
  }
  return std::nullopt;
}

void OwnerMap::Join(const OwnerMap& other) {
  std::map<int64_t, Range> both;
  auto b = other.ranges_.begin();
  for (auto a = ranges_.begin();
       a != ranges_.end() && b != other.ranges_.end();) {
    const int64_t begin = std::max(a->first, b->first);
    const int64_t end = std::min(a->second.end, b->second.end);
    if (begin < end && a->second.owner == b->second.owner) {
      both.emplace_hint(both.end(), begin, Range{end, a->second.owner});
    }
    if (a->second.end < b->second.end) {
      ++a;
    } else {
      ++b;
    }
  }
  ranges_ = std::move(both);
}

}  // namespace encore::runtime
