#include "encore/opt/egraph/core/change_log.h"

#include <algorithm>

namespace encore::egraph {

ChangeLog::ChangeLog(const ChangeLog& other, PagePool* pool)
    : pool_(pool),
      log_(other.log_, pool),
      segments_(other.segments_),
      open_stamp_(other.open_stamp_),
      end_(other.end_),
      ends_in_run_(other.ends_in_run_),
      num_nodes_(other.num_nodes_),
      num_stale_(other.num_stale_) {}

void ChangeLog::Open(uint32_t stamp) {
  segments_.push_back({stamp, static_cast<uint32_t>(log_.size()), num_nodes_});
  open_stamp_ = stamp;
  end_ = kNone;
}

size_t ChangeLog::FirstSegment(uint32_t from) const {
  size_t s = segments_.size();
  while (s > 0 && segments_[s - 1].stamp >= from) --s;
  return s;
}

size_t ChangeLog::Count(uint32_t from, uint32_t to) const {
  const auto before = [&](uint32_t stamp) {
    const size_t s = FirstSegment(stamp);
    return s < segments_.size() ? segments_[s].nodes_before : num_nodes_;
  };
  return before(to) - before(from);
}

void ChangeLog::Rebase(uint32_t shift) {
  std::vector<Segment> segments;
  for (Segment segment : segments_) {
    segment.stamp -= std::min(segment.stamp, shift);
    if (segments.empty() || segments.back().stamp != segment.stamp) {
      segments.push_back(segment);
    }
  }
  segments_ = std::move(segments);
  open_stamp_ = kNone;
}

}  // namespace encore::egraph
