// JoinIndex: the nodes of an operator in the order of what a step joins them
// on, so that the nodes for one value lie side by side.
//
// The lists of NodeStore lead from a class to all its members or users, one
// memory access after the other; they cost nothing where few are followed. An
// index holds only what is asked for, copied, and is read in sequence; it costs
// two passes over the operator's nodes. The matcher makes one for an iteration
// when more values have come to a step, or are expected, than that is worth.
#ifndef ENCORE_OPT_EGRAPH_CORE_JOIN_INDEX_H_
#define ENCORE_OPT_EGRAPH_CORE_JOIN_INDEX_H_

#include <cstdint>

#include "encore/opt/egraph/core/flat_array.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/egraph/core/node_store.h"

namespace encore::egraph {

class JoinIndex {
 public:
  struct Key {
    uint32_t op;
    uint32_t column;  // or kClass
    uint32_t from;    // row stamps: from <= stamp < to
    uint32_t to;
    static constexpr uint32_t kClass = 0xFFFFFFFFu;

    bool operator==(const Key&) const = default;
  };
  struct Entry {
    uint32_t node;
    uint32_t stamp;
    uint32_t cls;
    Value args[2];  // as in NodeRow
  };
  // A node and the value by which it is found.
  struct Keyed {
    uint32_t node;
    Value value;
  };

  // REQUIRES: columns are canonical. Nothing of the store is kept; `scratch` is
  // overwritten.
  JoinIndex(const NodeStore& store, const Key& key, PagePool* pool,
            FlatArray<Keyed>* scratch);

  const Key& key() const { return key_; }
  // The entries of a value are those from begin(value) to end(value), the
  // oldest change first.
  uint32_t begin(Value value) const {
    return value < limit_ ? starts_[value] : 0;
  }
  uint32_t end(Value value) const {
    return value < limit_ ? starts_[value + 1] : 0;
  }
  const Entry* entries() const { return entries_.data(); }
  void PrefetchStart(Value value) const {
    __builtin_prefetch(starts_.data() + value);
  }
  void PrefetchEntry(uint32_t i) const {
    __builtin_prefetch(entries_.data() + i);
  }

 private:
  Key key_;
  uint32_t limit_ = 0;          // values are below
  FlatArray<uint32_t> starts_;  // by value, and one past them
  FlatArray<Entry> entries_;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_CORE_JOIN_INDEX_H_
