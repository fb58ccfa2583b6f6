// MatchBuffer: the matches of one query, from when they are found until they
// are applied.
//
// They lie in blocks of kBlock matches, in each of which a column follows the
// other, so that all of them fill one array and what has been applied can be
// given back. Movable only.
#ifndef ENCORE_OPT_EGRAPH_MATCH_BUFFER_H_
#define ENCORE_OPT_EGRAPH_MATCH_BUFFER_H_

#include <cstddef>

#include "encore/opt/egraph/flat_array.h"
#include "encore/opt/egraph/ids.h"

namespace encore::egraph {

class MatchBuffer {
 public:
  static constexpr size_t kBlock = 64;

  // Keeps at most `limit` matches.
  MatchBuffer(size_t num_columns, size_t limit, PagePool* pool)
      : num_columns_(num_columns), limit_(limit), values_(pool) {}

  size_t count() const { return count_; }
  // How many more it keeps.
  size_t room() const { return limit_ - count_; }
  // There were more than it keeps.
  bool overflow() const { return overflow_; }
  void set_overflow() { overflow_ = true; }

  // Room for that many matches more, at most as many as the last block has
  // room for: gives the first one's place in column 0, from which the same one
  // in the next column is kBlock further.
  Value* Append(size_t matches) {
    if (count_ % kBlock == 0) values_.Extend(num_columns_ * kBlock);
    Value* const place = values_.data() + PlaceOf(0, count_);
    count_ += matches;
    return place;
  }
  static size_t RoomInBlock(size_t match) { return kBlock - match % kBlock; }

  // The column's value in a match; those of later ones follow to the end of the
  // block.
  const Value* column(size_t k, size_t match) const {
    return values_.data() + PlaceOf(k, match);
  }

  // The first `applied` matches are not read any more. Nothing is appended
  // then.
  void set_applied(size_t applied) {
    applied_ = applied;
    values_.Discard(PlaceOf(0, applied / kBlock * kBlock));
  }
  size_t applied() const { return applied_; }
  void Free() { values_.Free(); }

 private:
  size_t PlaceOf(size_t k, size_t match) const {
    return (match / kBlock * num_columns_ + k) * kBlock + match % kBlock;
  }

  size_t num_columns_;
  size_t limit_;
  size_t count_ = 0;
  size_t applied_ = 0;
  bool overflow_ = false;
  FlatArray<Value> values_;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_MATCH_BUFFER_H_
