// NodeTable: an open-addressing set of node ids, 4 bytes per slot.
//
// The keys are the nodes' columns, which the table does not store: a slot holds
// an id and, in the bits that ids do not need, a piece of the hash, so that a
// lookup reads another node's columns about once in a thousand probes. The
// owner computes hashes and refills the table when it asks for it.
#ifndef ENCORE_OPT_EGRAPH_CORE_NODE_TABLE_H_
#define ENCORE_OPT_EGRAPH_CORE_NODE_TABLE_H_

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstdint>

#include "encore/opt/egraph/core/flat_array.h"

namespace encore::egraph {

class NodeTable {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFFu;

  explicit NodeTable(PagePool* pool) : slots_(pool) { Reset(0, 0, 0); }
  NodeTable(const NodeTable& other, PagePool* pool)
      : slots_(other.slots_, pool),
        shift_(other.shift_),
        id_bits_(other.id_bits_),
        live_(other.live_),
        filled_(other.filled_),
        max_filled_(other.max_filled_),
        max_id_(other.max_id_) {}
  NodeTable(NodeTable&&) = default;
  NodeTable& operator=(NodeTable&&) = default;

  // The slots as they are until Reset: a copy of what finds them, which many
  // searches in a row keep in registers. A search goes from its home over slots
  // to the first empty one. Places in it are good until Reset or Erase.
  class Slots {
   public:
    size_t Home(uint64_t hash) const { return hash >> shift_; }
    // The first slot that is empty or may hold what is searched.
    size_t Probe(uint64_t hash) const {
      const uint32_t tag = Tag(hash);
      size_t i = Home(hash);
#ifdef __SSE2__
      i = FirstHit(i, static_cast<int>(tag), static_cast<int>(~id_mask_));
      if (slots_[i] != kTombstone) return i;
#endif
      for (;; i = Next(i)) {
        const uint32_t slot = slots_[i];
        if (slot == kEmpty) return i;
        if ((slot & ~id_mask_) == tag && slot != kTombstone) return i;
      }
    }
    size_t FirstEmpty(uint64_t hash) const {
      size_t i = Home(hash);
#ifdef __SSE2__
      i = FirstHit(i, -1, -1);
#endif
      while (slots_[i] != kEmpty) i = Next(i);
      return i;
    }
    // What is there, or kNone.
    uint32_t IdAt(size_t place) const {
      const uint32_t slot = slots_[place];
      return slot == kEmpty ? kNone : slot & id_mask_;
    }
    // The id with that hash for which `equal(id)`, from `*place` on; or kNone
    // and in `*place` the empty slot that ends the search.
    template <typename Equal>
    [[gnu::always_inline]] uint32_t Find(uint64_t hash, size_t* place,
                                         const Equal& equal) const {
      const uint32_t tag = Tag(hash);
      for (size_t i = *place;; i = Next(i)) {
        const uint32_t slot = slots_[i];
        if (slot == kEmpty) {
          *place = i;
          return kNone;
        }
        if ((slot & ~id_mask_) == tag && slot != kTombstone &&
            equal(slot & id_mask_)) {
          return slot & id_mask_;
        }
      }
    }
    // What a slot holds for an id.
    uint32_t Slot(uint64_t hash, uint32_t id) const { return Tag(hash) | id; }
    void Prefetch(uint64_t hash) const {
      __builtin_prefetch(slots_ + Home(hash));
    }

   private:
    friend class NodeTable;
    uint32_t Tag(uint64_t hash) const {
      return static_cast<uint32_t>(hash) & ~id_mask_;
    }
    size_t Next(size_t i) const { return (i + 1) & last_; }
#ifdef __SSE2__
    // The first slot from `i` on that is empty or whose bits in `mask` are
    // `bits`. How far a search goes is hard to foretell: a group of slots is
    // one step.
    size_t FirstHit(size_t i, int bits, int mask) const {
      size_t skipped = i % kGroup;
      for (i -= skipped;; i = (i + kGroup) & last_) {
        const uint32_t hits = Hits(i, bits, mask) >> 2 * skipped;
        if (hits != 0) return i + skipped + std::countr_zero(hits) / 2;
        skipped = 0;
      }
    }
    // Two bits for each such slot of a group.
    uint32_t Hits(size_t group, int bits, int mask) const {
      const auto hits = [&](size_t at) {
        const __m128i slots =
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(slots_ + at));
        return _mm_or_si128(
            _mm_cmpeq_epi32(slots, _mm_set1_epi32(static_cast<int>(kEmpty))),
            _mm_cmpeq_epi32(_mm_and_si128(slots, _mm_set1_epi32(mask)),
                            _mm_set1_epi32(bits)));
      };
      return _mm_movemask_epi8(
          _mm_packs_epi32(hits(group), hits(group + kGroup / 2)));
    }
#endif

    const uint32_t* slots_;
    size_t last_;
    int shift_;
    uint32_t id_mask_;
  };
  Slots slots() const {
    Slots slots;
    slots.slots_ = slots_.data();
    slots.last_ = slots_.size() - 1;
    slots.shift_ = shift_;
    slots.id_mask_ = IdMask();
    return slots;
  }
  // For insertions in a row: a write of Slot to a place counts as InsertAt once
  // CountInserted has been told.
  uint32_t* data() { return slots_.data(); }
  void CountInserted(size_t ids) {
    live_ += ids;
    filled_ += ids;
  }

  // Whether insertions of `count` ids up to `last` must be preceded by Reset
  // and the insertion of all ids.
  bool MustRefill(size_t count, uint32_t last) const {
    return filled_ + count > max_filled_ || last >= max_id_;
  }
  // Empties the table and makes room for more than `live` ids below `max_id`,
  // and for `expected`.
  void Reset(size_t live, size_t expected, uint32_t max_id) {
    const size_t capacity = std::bit_ceil(
        std::max({kMinSlots, live * 7 / 4 + 1, expected * 3 / 2 + 1}));
    if (capacity < slots_.size() || capacity > slots_.capacity()) slots_.Free();
    slots_.reserve(capacity);
    slots_.resize(capacity);
    std::fill(slots_.begin(), slots_.end(), kEmpty);
    shift_ = 64 - std::countr_zero(capacity);
    id_bits_ = std::bit_width(
        std::max<uint64_t>(capacity, uint64_t{max_id} + max_id / 4 + 16));
    id_bits_ = std::min(id_bits_, 31);
    live_ = filled_ = 0;
    max_filled_ = capacity * 2 / 3;
    max_id_ = IdMask() - 1;
  }

  // REQUIRES: no equal id is in the table, !MustRefill(id), `place` is the
  // empty slot that ends the search for it.
  void InsertAt(size_t place, uint64_t hash, uint32_t id) {
    slots_[place] = Tag(hash) | id;
    CountInserted(1);
  }
  // Likewise, searching.
  void Insert(uint64_t hash, uint32_t id) {
    InsertAt(slots().FirstEmpty(hash), hash, id);
  }

  // REQUIRES: `id` is in the table under `hash`.
  void Erase(uint64_t hash, uint32_t id) {
    const uint32_t slot = Tag(hash) | id;
    size_t i = hash >> shift_;
    while (slots_[i] != slot) i = Next(i);
    --live_;
    if (slots_[Next(i)] != kEmpty) {
      slots_[i] = kTombstone;
      return;
    }
    // Nothing probes past here: this slot and tombstones before it are free.
    do {
      slots_[i] = kEmpty;
      --filled_;
      i = (i - 1) & (slots_.size() - 1);
    } while (slots_[i] == kTombstone);
  }

  size_t live() const { return live_; }

 private:
  static constexpr uint32_t kEmpty = 0xFFFFFFFFu;
  static constexpr uint32_t kTombstone = 0xFFFFFFFEu;
  static constexpr size_t kGroup = 8;  // slots; divides their number
#ifdef ENCORE_RARE_PATHS
  static constexpr size_t kMinSlots = kGroup;
#else
  static constexpr size_t kMinSlots = 64;
#endif

  uint32_t IdMask() const { return (uint32_t{1} << id_bits_) - 1; }
  uint32_t Tag(uint64_t hash) const {
    return static_cast<uint32_t>(hash) & ~IdMask();
  }
  size_t Next(size_t i) const { return (i + 1) & (slots_.size() - 1); }

  FlatArray<uint32_t> slots_;
  int shift_ = 0;
  int id_bits_ = 0;
  size_t live_ = 0;
  size_t filled_ = 0;  // live and tombstones
  size_t max_filled_ = 0;
  uint32_t max_id_ = 0;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_CORE_NODE_TABLE_H_
