// What is inlined of NodeStore. Included by node_store.h only.
#ifndef ENCORE_OPT_EGRAPH_NODE_STORE_INL_H_
#define ENCORE_OPT_EGRAPH_NODE_STORE_INL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "encore/opt/egraph/node_store.h"

namespace encore::egraph {

inline uint32_t NodeStore::Lookup(uint32_t op, const Value* args, uint64_t hash,
                                  size_t* place) const {
  const size_t k = ops_[op].arity;
  return table_.Find(hash, place, [&](uint32_t n) {
    const NodeRow& row = rows_[n];
    if ((row.op & ~kRetiredBit) != op) return false;
    if (k == 2) return row.arg[0] == args[0] && row.arg[1] == args[1];
    if (k == 1) return row.arg[0] == args[0];
    return k == 0 || std::equal(args, args + k, extra_.data() + row.arg[0]);
  });
}

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
  for (uint32_t ref = classes_[from].users; ref != kNone;
       ref = next_user(ref)) {
    last = ref;
    const uint32_t n = user_node(ref);
    if (is_node(n)) each(n);
  }
  if (last == kNone) return;
  LinkOf(last) = classes_[into].users;
  classes_[into].users = classes_[from].users;
  classes_[from].users = kNone;
}

template <typename Each>
void NodeStore::ForEachStamped(uint32_t op, uint32_t from, uint32_t to,
                               const Each& each) const {
  uint32_t nodes[64];
  LogCursor cursor;
  size_t count;
  do {
    count = NextStamped(op, from, to, &cursor, nodes);
    for (size_t i = 0; i < count; ++i) each(nodes[i]);
  } while (count == std::size(nodes));
}

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_NODE_STORE_INL_H_
