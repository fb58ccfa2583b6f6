// The walks over NodeStore's lists, which take a function. Included by
// node_store.h only.
#ifndef ENCORE_OPT_EGRAPH_NODE_STORE_INL_H_
#define ENCORE_OPT_EGRAPH_NODE_STORE_INL_H_

#include <cstdint>

#include "encore/opt/egraph/node_store.h"

namespace encore::egraph {

template <typename Each>
void NodeStore::SpliceMembers(uint32_t into, uint32_t from, const Each& each) {
  uint32_t last = from;
  for (uint32_t n = from; n != kNone; n = rows_[n].next) {
    last = n;
    if (is_node(n)) each(n);
  }
  rows_[last].next = rows_[into].next;
  rows_[into].next = from;
}

template <typename Each>
void NodeStore::SpliceUsers(uint32_t into, uint32_t from, const Each& each) {
  uint32_t last = kNone;
  for (uint32_t ref = rows_[from].users; ref != kNone; ref = next_user(ref)) {
    last = ref;
    const uint32_t n = user_node(ref);
    if (is_node(n)) each(n);
  }
  if (last == kNone) return;
  LinkOf(last) = rows_[into].users;
  rows_[into].users = rows_[from].users;
  rows_[from].users = kNone;
}

template <typename Each>
bool NodeStore::ForEachStamped(uint32_t op, uint32_t from, uint32_t to,
                               const Each& each) const {
  const OpRows& rows = ops_[op];
  for (size_t s = FirstSegment(rows, from); s < rows.segments.size(); ++s) {
    const uint32_t stamp = rows.segments[s].stamp;
    if (stamp >= to) break;
    const uint32_t end = s + 1 < rows.segments.size()
                             ? rows.segments[s + 1].begin
                             : rows.log.size();
    for (uint32_t i = rows.segments[s].begin; i < end; ++i) {
      if (i + 8 < end) PrefetchRow(rows.log[i + 8]);
      if (i + 4 < end) {
        // Matching goes on to the classes in the columns; a literal does no
        // harm.
        PrefetchInfo(rows_[rows.log[i + 4]].arg[0]);
        PrefetchInfo(rows_[rows.log[i + 4]].arg[1]);
      }
      const uint32_t n = rows.log[i];
      if (rows_[n].op != op || rows_[n].stamp != stamp) continue;
      if (!each(n)) return false;
    }
  }
  return true;
}

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_NODE_STORE_INL_H_
