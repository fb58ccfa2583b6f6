// ChangeLog: the nodes of one operator in the order in which they last changed,
// by stamp.
//
// Nodes are mostly created many at a time, with ids that follow each other;
// such a run takes two words. A node that changes is logged again, and its
// earlier entry goes stale: whoever reads says which entries still count. Not
// thread-safe.
#ifndef ENCORE_OPT_EGRAPH_CORE_CHANGE_LOG_H_
#define ENCORE_OPT_EGRAPH_CORE_CHANGE_LOG_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "encore/opt/egraph/core/flat_array.h"

namespace encore::egraph {

class ChangeLog {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFFu;
  static constexpr uint32_t kMaxNode = 0x7FFFFFFFu;

  explicit ChangeLog(PagePool* pool = nullptr) : pool_(pool), log_(pool) {}
  ChangeLog(const ChangeLog& other, PagePool* pool);
  ChangeLog(ChangeLog&&) = default;
  ChangeLog& operator=(ChangeLog&&) = default;

  // Logs `count` nodes from `first` on. REQUIRES: stamps do not decrease.
  void Add(uint32_t stamp, uint32_t first, uint32_t count = 1) {
    if (stamp != open_stamp_) Open(stamp);
    num_nodes_ += count;
    if (first == end_) {
      if (!ends_in_run_) {
        log_.back() |= kRun;
        log_.push_back(1);
        ends_in_run_ = true;
      }
      log_.back() += count;
    } else if (count == 1) {
      log_.push_back(first);
      ends_in_run_ = false;
    } else {
      log_.push_back(kRun | first);
      log_.push_back(count);
      ends_in_run_ = true;
    }
    end_ = first + count;
  }
  // One more entry that does not count.
  void AddStale() { ++num_stale_; }
  bool MayCompact(uint32_t stamp) const {
    return stamp != open_stamp_ && num_stale_ > 16 &&
           num_stale_ > num_nodes_ / 4;
  }

  // Nodes with `from` <= stamp < `to`, stale ones included.
  size_t Count(uint32_t from, uint32_t to) const;

  // A place in the log, at first the beginning.
  struct Cursor {
    uint32_t segment = kNone;
    uint32_t at = 0;
    uint32_t done = 0;  // nodes of the entry there
  };
  // Writes the next of these nodes for which keep(node, stamp) to `out`, oldest
  // change first; fewer than out.size() when there are no more. Calls ask(node)
  // some time before for most of them; the node may be none.
  template <typename Keep, typename Ask>
  size_t Next(uint32_t from, uint32_t to, Cursor* cursor,
              std::span<uint32_t> out, const Keep& keep, const Ask& ask) const;

  // Leaves only nodes for which keep(node, stamp).
  template <typename Keep>
  void Compact(const Keep& keep);
  // Reduces all stamps, to 0 at least.
  void Rebase(uint32_t shift);

 private:
  static constexpr uint32_t kRun = 0x80000000u;  // the number of nodes follows
  static constexpr uint32_t kAhead = 16;         // words asked for early
  struct Segment {
    uint32_t stamp;
    uint32_t begin;         // in log_
    uint32_t nodes_before;  // logged earlier
  };

  void Open(uint32_t stamp);
  // The first whose stamp is no less.
  size_t FirstSegment(uint32_t from) const;
  uint32_t EndOf(size_t segment) const {
    return segment + 1 < segments_.size() ? segments_[segment + 1].begin
                                          : log_.size();
  }

  PagePool* pool_;
  FlatArray<uint32_t> log_;
  std::vector<Segment> segments_;
  uint32_t open_stamp_ = kNone;  // of the last segment
  uint32_t end_ = kNone;         // after the last node of that segment
  bool ends_in_run_ = false;
  uint32_t num_nodes_ = 0;
  uint32_t num_stale_ = 0;
};

template <typename Keep, typename Ask>
size_t ChangeLog::Next(uint32_t from, uint32_t to, Cursor* cursor,
                       std::span<uint32_t> out, const Keep& keep,
                       const Ask& ask) const {
  if (cursor->segment == kNone) {
    cursor->segment = FirstSegment(from);
    if (cursor->segment < segments_.size()) {
      cursor->at = segments_[cursor->segment].begin;
    }
  }
  size_t count = 0;
  for (; cursor->segment < segments_.size(); ++cursor->segment) {
    const uint32_t stamp = segments_[cursor->segment].stamp;
    if (stamp >= to) break;
    const uint32_t end = EndOf(cursor->segment);
    while (cursor->at < end) {
      if (cursor->at + kAhead < end) ask(log_[cursor->at + kAhead] & ~kRun);
      const uint32_t entry = log_[cursor->at];
      const bool run = (entry & kRun) != 0;
      const uint32_t first = entry & ~kRun;
      const uint32_t nodes = run ? log_[cursor->at + 1] : 1;
      for (; cursor->done < nodes; ++cursor->done) {
        if (count == out.size()) return count;
        if (keep(first + cursor->done, stamp)) {
          out[count++] = first + cursor->done;
        }
      }
      cursor->at += run ? 2 : 1;
      cursor->done = 0;
    }
  }
  return count;
}

template <typename Keep>
void ChangeLog::Compact(const Keep& keep) {
  ChangeLog kept(pool_);
  for (size_t s = 0; s < segments_.size(); ++s) {
    const uint32_t stamp = segments_[s].stamp;
    const uint32_t end = EndOf(s);
    for (uint32_t at = segments_[s].begin; at < end; ++at) {
      const uint32_t first = log_[at] & ~kRun;
      const uint32_t nodes = (log_[at] & kRun) != 0 ? log_[++at] : 1;
      for (uint32_t n = first; n < first + nodes; ++n) {
        if (keep(n, stamp)) kept.Add(stamp, n);
      }
    }
  }
  *this = std::move(kept);
}

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_CORE_CHANGE_LOG_H_
