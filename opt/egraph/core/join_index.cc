#include "encore/opt/egraph/core/join_index.h"

#include <algorithm>
#include <iterator>

#include "encore/opt/egraph/core/change_log.h"

namespace encore::egraph {

// A counting sort.
JoinIndex::JoinIndex(const NodeStore& store, const Key& key, PagePool* pool,
                     FlatArray<Keyed>* scratch)
    : key_(key),
      starts_(pool, Lifetime::kIteration),
      entries_(pool, Lifetime::kIteration) {
  const bool wide = store.arity(key.op) > 2;
  scratch->clear();
  scratch->reserve(store.CountStamped(key.op, key.from, key.to));
  Value limit = 0;
  uint32_t nodes[64];
  ChangeLog::Cursor cursor;
  uint32_t count;
  do {
    count = store.NextStamped(key.op, key.from, key.to, &cursor, nodes);
    Keyed* keyed = scratch->Extend(count);
    for (uint32_t i = 0; i < count; ++i, ++keyed) {
      const uint32_t n = nodes[i];
      const Value value = key.column == Key::kClass ? store.class_of(n)
                          : wide                    ? store.args(n)[key.column]
                                 : store.row(n).arg[key.column];
      *keyed = {n, value};
      limit = std::max(limit, value + 1);
    }
  } while (count == std::size(nodes));
  limit_ = limit;
  starts_.resize(limit + 1);
  std::fill(starts_.begin(), starts_.end(), 0);
  uint32_t* const starts = starts_.data();
  for (const Keyed& keyed : *scratch) ++starts[keyed.value];
  // What a value has room for ends where that of the next one begins; entries
  // are put in from the end.
  uint32_t end = 0;
  for (Value value = 0; value <= limit; ++value) {
    end += starts[value];
    starts[value] = end;
  }
  entries_.resize(scratch->size());
  Entry* const entries = entries_.data();
  const Keyed* const first = scratch->data();
  for (size_t i = scratch->size(); i-- > 0;) {
    const uint32_t n = first[i].node;
    const NodeRow& row = store.row(n);
    entries[--starts[first[i].value]] = {
        n, row.stamp, store.class_of(n), {row.arg[0], row.arg[1]}};
  }
}

}  // namespace encore::egraph
