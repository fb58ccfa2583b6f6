#include "encore/opt/egraph/join_index.h"

#include <algorithm>
#include <iterator>

#include "encore/opt/egraph/change_log.h"

namespace encore::egraph {

// A counting sort of what one pass over the store has copied.
JoinIndex::JoinIndex(const NodeStore& store, const Key& key, PagePool* pool)
    : key_(key),
      starts_(pool, Lifetime::kIteration),
      entries_(pool, Lifetime::kIteration) {
  const bool wide = store.arity(key.op) > 2;
  FlatArray<Entry> unsorted(pool, Lifetime::kIteration);
  unsorted.reserve(store.CountStamped(key.op, key.from, key.to));
  Value limit = 0;
  uint32_t nodes[64];
  ChangeLog::Cursor cursor;
  uint32_t count;
  do {
    count = store.NextStamped(key.op, key.from, key.to, &cursor, nodes);
    Entry* entry = unsorted.Extend(count);
    for (uint32_t i = 0; i < count; ++i, ++entry) {
      const uint32_t n = nodes[i];
      const NodeRow& row = store.row(n);
      const uint32_t cls = store.class_of(n);
      const Value value = key.column == Key::kClass ? cls
                          : wide                    ? store.args(n)[key.column]
                                                    : row.arg[key.column];
      *entry = {n, row.stamp, cls, value, {row.arg[0], row.arg[1]}};
      limit = std::max(limit, value + 1);
    }
  } while (count == std::size(nodes));
  limit_ = limit;
  starts_.resize(limit + 1);
  std::fill(starts_.begin(), starts_.end(), 0);
  uint32_t* const starts = starts_.data();
  for (const Entry& entry : unsorted) ++starts[entry.value];
  // What a value has room for ends where that of the next one begins; entries
  // are put in from the end.
  uint32_t end = 0;
  for (Value value = 0; value <= limit; ++value) {
    end += starts[value];
    starts[value] = end;
  }
  entries_.resize(unsorted.size());
  Entry* const entries = entries_.data();
  const Entry* const first = unsorted.data();
  for (size_t i = unsorted.size(); i-- > 0;) {
    entries[--starts[first[i].value]] = first[i];
  }
}

}  // namespace encore::egraph
