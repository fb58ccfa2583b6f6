// What is inlined of NodeStore. Included by node_store.h only.
#ifndef ENCORE_OPT_EGRAPH_CORE_NODE_STORE_INL_H_
#define ENCORE_OPT_EGRAPH_CORE_NODE_STORE_INL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "encore/opt/egraph/core/node_store.h"

namespace encore::egraph {

// The two halves of a product, folded.
inline uint64_t NodeStore::Mix(uint64_t h, uint64_t x) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{h ^ x ^ 0xD6E8FEB86659FD93u} * kHashFactor;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline std::span<const Value> NodeStore::args(uint32_t n) const {
  const NodeRow& row = rows_[n];
  const size_t k = ops_[op(n)].arity;
  return {k <= 2 ? row.arg : extra_.data() + row.arg[0], k};
}

inline std::span<Value> NodeStore::args(uint32_t n) {
  NodeRow& row = rows_[n];
  const size_t k = ops_[op(n)].arity;
  return {k <= 2 ? row.arg : extra_.data() + row.arg[0], k};
}

inline void NodeStore::Log(uint32_t op, uint32_t first, uint32_t count) {
  if (ops_[op].log.MayCompact(stamp_)) Compact(op);
  ops_[op].log.Add(stamp_, first, count);
}

inline void NodeStore::Restamp(uint32_t n) {
  if (rows_[n].stamp == stamp_) return;
  rows_[n].stamp = stamp_;
  if (live(n)) {
    Log(rows_[n].op, n, 1);
    ops_[rows_[n].op].log.AddStale();
  }
}

inline void NodeStore::LinkInlineUsers(const OpRows& op, uint32_t n,
                                       NodeRow* row) {
  for (uint32_t i = 0; i < 2; ++i) {
    if ((op.inline_classes >> i & 1) == 0) continue;
    ClassRow& child = classes_[row->arg[i]];
    row->link[i] = child.users;
    child.users = n << 1 | i;
  }
}

inline uint32_t NodeStore::RowStamp(uint32_t since) const {
  return since <= stamp_base_ ? 0 : since - stamp_base_;
}

inline uint64_t NodeStore::Hash(uint32_t op, const Value* args, size_t k) {
  const uint64_t seed = (op + 1) * kHashFactor;
  if (k == 2) return Mix(seed, args[0] | uint64_t{args[1]} << 32);
  uint64_t h = seed;
  for (size_t i = 0; i < k; ++i) h = Mix(h, args[i]);
  return h;
}

inline uint32_t NodeStore::user_column(uint32_t ref) const {
  if (ref < kExtraRef) return ref & 1;
  const uint32_t node = user_node(ref);
  const uint32_t links = rows_[node].arg[0] + ops_[op(node)].arity;
  return (ref - kExtraRef - links) / 2;
}

inline uint32_t NodeStore::next_user(uint32_t ref) const {
  return ref < kExtraRef ? rows_[ref >> 1].link[ref & 1]
                         : extra_[ref - kExtraRef];
}

inline size_t NodeStore::StartLookup(uint64_t hash) const {
  const NodeTable::Slots slots = table_.slots();
  const size_t place = slots.Probe(hash);
  PrefetchRow(slots.IdAt(place));
  return place;
}

inline uint32_t NodeStore::Lookup(uint32_t op, const Value* args, uint64_t hash,
                                  size_t* place) const {
  const size_t k = ops_[op].arity;
  return table_.slots().Find(hash, place, [&](uint32_t n) {
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
  ChangeLog::Cursor cursor;
  size_t count;
  do {
    count = NextStamped(op, from, to, &cursor, nodes);
    for (size_t i = 0; i < count; ++i) each(nodes[i]);
  } while (count == std::size(nodes));
}

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_CORE_NODE_STORE_INL_H_
