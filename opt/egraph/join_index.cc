#include "encore/opt/egraph/join_index.h"

#include <algorithm>

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
  store.ForEachStamped(key.op, key.from, key.to, [&](uint32_t n) {
    const NodeRow& row = store.row(n);
    const uint32_t cls = store.class_of(n);
    const Value value = key.column == Key::kClass ? cls
                        : wide                    ? store.args(n)[key.column]
                                                  : row.arg[key.column];
    unsorted.push_back({n, row.stamp, cls, value, {row.arg[0], row.arg[1]}});
    limit = std::max(limit, value + 1);
  });
  limit_ = limit;
  starts_.resize(limit + 1);
  std::fill(starts_.begin(), starts_.end(), 0);
  for (const Entry& entry : unsorted) ++starts_[entry.value];
  // What a value has room for ends where that of the next one begins; entries
  // are put in from the end.
  uint32_t end = 0;
  for (uint32_t& start : starts_) start = end += start;
  entries_.resize(unsorted.size());
  for (size_t i = unsorted.size(); i-- > 0;) {
    entries_[--starts_[unsorted[i].value]] = unsorted[i];
  }
}

}  // namespace encore::egraph
