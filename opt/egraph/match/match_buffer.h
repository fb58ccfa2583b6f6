// MatchBuffer: the matches of one query, from when they are found until they
// are applied.
//
// They lie in blocks of kBlock matches, in each of which a column follows the
// other, and blocks in chunks, of which those that have been applied are given
// back. Movable only.
#ifndef ENCORE_OPT_EGRAPH_MATCH_MATCH_BUFFER_H_
#define ENCORE_OPT_EGRAPH_MATCH_MATCH_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "encore/opt/egraph/core/flat_array.h"
#include "encore/opt/egraph/core/ids.h"

namespace encore::egraph {

class MatchBuffer {
 public:
  static constexpr size_t kBlock = 64;

  // Keeps at most `limit` matches.
  MatchBuffer(size_t num_columns, size_t limit, PagePool* pool)
      : num_columns_(num_columns),
        limit_(limit),
        blocks_per_chunk_(
            std::max<size_t>(kChunkBytes / sizeof(Value) / kBlock /
                                 std::max<size_t>(num_columns, 1),
                             1)),
        pool_(pool) {}

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
    const size_t match = count_;
    count_ += matches;
    if (match % kBlock == 0) AddBlock(match / kBlock);
    return num_columns_ == 0 ? nullptr : Place(0, match);
  }
  static size_t RoomInBlock(size_t match) { return kBlock - match % kBlock; }

  // The column's value in a match; those of later ones follow to the end of the
  // block.
  const Value* column(size_t k, size_t match) const { return Place(k, match); }

  // The first `applied` matches are not read any more.
  void set_applied(size_t applied) {
    const size_t done = applied / kBlock / blocks_per_chunk_;
    for (size_t i = applied_ / kBlock / blocks_per_chunk_; i < done; ++i) {
      chunks_[i].Free();
    }
    applied_ = applied;
  }
  size_t applied() const { return applied_; }
  void Free() { chunks_.clear(); }

 private:
#ifdef ENCORE_RARE_PATHS
  static constexpr size_t kChunkBytes = size_t{2} << 10;
#else
  static constexpr size_t kChunkBytes = kLargePage;
#endif

  // The first chunk grows, as most rules have few matches.
  void AddBlock(size_t block) {
    if (block % blocks_per_chunk_ == 0) {
      chunks_.emplace_back(pool_, Lifetime::kIteration);
      if (block > 0) {
        chunks_.back().reserve(blocks_per_chunk_ * num_columns_ * kBlock);
      }
    }
    chunks_.back().Extend(num_columns_ * kBlock);
  }
  Value* Place(size_t k, size_t match) {
    const size_t block = match / kBlock;
    return chunks_[block / blocks_per_chunk_].data() +
           (block % blocks_per_chunk_ * num_columns_ + k) * kBlock +
           match % kBlock;
  }
  const Value* Place(size_t k, size_t match) const {
    return const_cast<MatchBuffer*>(this)->Place(k, match);
  }

  size_t num_columns_;
  size_t limit_;
  size_t blocks_per_chunk_;
  size_t count_ = 0;
  size_t applied_ = 0;
  bool overflow_ = false;
  PagePool* pool_;
  std::vector<FlatArray<Value>> chunks_;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_MATCH_MATCH_BUFFER_H_
