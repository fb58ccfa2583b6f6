// NodeStore: the columns of all nodes, the table that finds a node by its
// operator and columns, the lists of members and users of classes, and per
// operator the log of its nodes by the stamp of their last change.
//
// Ids here are plain 32-bit numbers; EGraph gives them their types. The store
// keeps what it is told: canonical columns and congruence are EGraph's affair.
#ifndef ENCORE_OPT_EGRAPH_NODE_STORE_H_
#define ENCORE_OPT_EGRAPH_NODE_STORE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "encore/opt/egraph/flat_array.h"
#include "encore/opt/egraph/language.h"
#include "encore/opt/egraph/node_table.h"

namespace encore::egraph {

// Node n and, in `cls` read as a union-find link and in `users`, class n.
struct NodeRow {
  uint16_t op;  // with kRetiredBit; kDeadOp; kNoOp for a class without node
  uint16_t stamp;
  uint32_t cls;
  uint32_t arg[2];   // the columns; arg[0] = offset into extra if more than two
  uint32_t next;     // next member of the class, starting from node = class
  uint32_t link[2];  // next users of the classes arg[0], arg[1]
  uint32_t users;    // first user of class n
};
static_assert(sizeof(NodeRow) == 32);

struct ClassInfo {
  uint32_t ops;  // bit op % 32 for each operator of its members (a superset)
  uint32_t members;  // dead ones included
};

class NodeStore {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFFu;
  static constexpr uint16_t kRetiredBit = 0x8000;
  static constexpr uint16_t kDeadOp = 0xFFFF;
  static constexpr uint16_t kNoOp = 0xFFFE;

  explicit NodeStore(MemoryMeter* meter);
  NodeStore(const NodeStore& other, MemoryMeter* meter);
  NodeStore(NodeStore&&) = default;
  NodeStore& operator=(NodeStore&&) = default;

  // Operators that the language has got since the last call.
  void AddOps(const Language& language);
  size_t num_ops() const { return ops_.size(); }
  size_t arity(uint32_t op) const { return ops_[op].arity; }
  bool is_relation(uint32_t op) const { return ops_[op].is_relation; }
  bool is_class_column(uint32_t op, size_t column) const {
    return ops_[op].is_class[column];
  }

  uint32_t num_rows() const { return rows_.size(); }
  const NodeRow& row(uint32_t n) const { return rows_[n]; }
  NodeRow& row(uint32_t n) { return rows_[n]; }
  const NodeRow* rows() const { return rows_.data(); }
  const ClassInfo& info(uint32_t c) const { return info_[c]; }
  ClassInfo& info(uint32_t c) { return info_[c]; }
  static uint32_t OpBit(uint32_t op) { return uint32_t{1} << (op & 31); }

  bool is_node(uint32_t n) const { return rows_[n].op < kNoOp; }
  bool live(uint32_t n) const { return rows_[n].op < kRetiredBit; }
  bool retired(uint32_t n) const { return is_node(n) && !live(n); }
  uint32_t op(uint32_t n) const { return rows_[n].op & ~kRetiredBit; }
  // REQUIRES: is_node(n), also below.
  std::span<const Value> args(uint32_t n) const {
    const NodeRow& row = rows_[n];
    const size_t k = ops_[op(n)].arity;
    return {k <= 2 ? row.arg : extra_.data() + row.arg[0], k};
  }
  std::span<Value> args(uint32_t n) {
    NodeRow& row = rows_[n];
    const size_t k = ops_[op(n)].arity;
    return {k <= 2 ? row.arg : extra_.data() + row.arg[0], k};
  }

  uint32_t Find(uint32_t c) const {
    while (rows_[c].cls != c) c = rows_[c].cls;
    return c;
  }

  uint64_t Hash(uint32_t op, const Value* args) const {
    const size_t k = ops_[op].arity;
    uint64_t h = (op + 1) * 0x9E3779B97F4A7C15u;
    if (k > 0)
      h = Mix(h ^ (k > 1 ? args[0] | uint64_t{args[1]} << 32 : args[0]));
    for (size_t i = 2; i < k; ++i) h = Mix(h ^ args[i]);
    return h;
  }
  // The node with these columns, or kNone. Retired nodes are found.
  uint32_t Lookup(uint32_t op, const Value* args, uint64_t hash) const;
  // Bring near what Lookup will read: first the slot, then the row.
  void PrefetchSlot(uint64_t hash) const { table_.Prefetch(hash); }
  void PrefetchFound(uint64_t hash) const {
    const uint32_t n = table_.Guess(hash);
    if (n < rows_.size()) PrefetchRow(n);
  }
  void PrefetchRow(uint32_t n) const { __builtin_prefetch(rows_.data() + n); }
  void PrefetchInfo(uint32_t c) const { __builtin_prefetch(info_.data() + c); }

  // Appends a node in class `cls`, or where that is kNone in a class of its
  // own, and lists it everywhere. REQUIRES: Lookup gives kNone.
  uint32_t Create(uint32_t op, const Value* args, uint64_t hash, uint32_t cls);
  // A class without a node.
  uint32_t CreateClass();

  void EraseFromTable(uint32_t n);
  void InsertIntoTable(uint32_t n, uint64_t hash);
  // Takes out of all lists (at the next sweep) a node that is not in the table.
  void Kill(uint32_t n);
  void Retire(uint32_t n);
  // Appends the members of class `from` to `into`, calling each(n) for every
  // one that is a node; then the users, calling each(n) likewise.
  template <typename Each>
  void SpliceMembers(uint32_t into, uint32_t from, const Each& each);
  template <typename Each>
  void SpliceUsers(uint32_t into, uint32_t from, const Each& each);
  // Rebuilds the lists without dead nodes when those are many. REQUIRES:
  // columns are canonical.
  void MaybeSweep();

  // The columns or the class of the node have changed.
  void Restamp(uint32_t n) {
    if (rows_[n].stamp == stamp_) return;
    rows_[n].stamp = stamp_;
    if (live(n)) {
      Append(rows_[n].op, n);
      ++ops_[rows_[n].op].stale;
    }
  }
  // What changes from now on has a stamp of its own.
  void NextStamp();
  uint32_t stamp() const { return stamp_base_ + stamp_; }
  // The row stamp from which on nodes are new to who last looked before
  // `since`.
  uint32_t RowStamp(uint32_t since) const {
    return since <= stamp_base_ ? 0 : since - stamp_base_;
  }

  size_t num_live(uint32_t op) const {
    return op < ops_.size() ? ops_[op].live : 0;
  }
  // An upper bound of the live nodes of `op` with `from` <= stamp < `to`.
  size_t CountStamped(uint32_t op, uint32_t from, uint32_t to) const;
  // Calls each(n) for these nodes, oldest change first, until it returns false;
  // whether it never did.
  template <typename Each>
  bool ForEachStamped(uint32_t op, uint32_t from, uint32_t to,
                      const Each& each) const;

  // A reference to a column of a node in a list of users.
  uint32_t first_user(uint32_t c) const { return rows_[c].users; }
  uint32_t user_node(uint32_t ref) const {
    return ref < kExtraRef ? ref >> 1 : extra_[ref - kExtraRef + 1];
  }
  // REQUIRES: is_node(user_node(ref)).
  uint32_t user_column(uint32_t ref) const {
    if (ref < kExtraRef) return ref & 1;
    const uint32_t node = user_node(ref);
    const uint32_t links = rows_[node].arg[0] + ops_[op(node)].arity;
    return (ref - kExtraRef - links) / 2;
  }
  uint32_t next_user(uint32_t ref) const {
    return ref < kExtraRef ? rows_[ref >> 1].link[ref & 1]
                           : extra_[ref - kExtraRef];
  }

 private:
  static constexpr uint32_t kExtraRef = 0x80000000u;
  static constexpr uint32_t kMaxRows = 0x3FFFFFFFu;
#ifdef ENCORE_RARE_PATHS
  static constexpr uint32_t kMaxRowStamp = 9;
#else
  static constexpr uint32_t kMaxRowStamp = 0xFFFF;
#endif
  struct Segment {
    uint32_t stamp;  // of rows
    uint32_t begin;  // in log
  };
  struct OpRows {
    uint32_t arity = 0;
    bool is_relation = false;
    std::vector<uint8_t> is_class;  // by column
    FlatArray<uint32_t> log;
    std::vector<Segment> segments;
    size_t live = 0;
    size_t stale = 0;  // entries of the log that no longer count
  };

  static uint64_t Mix(uint64_t x) {
    x *= 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    return x ^ x >> 29;
  }
  static size_t FirstSegment(const OpRows& rows, uint32_t from) {
    size_t s = rows.segments.size();
    while (s > 0 && rows.segments[s - 1].stamp >= from) --s;
    return s;
  }
  uint32_t& LinkOf(uint32_t ref) {
    return ref < kExtraRef ? rows_[ref >> 1].link[ref & 1]
                           : extra_[ref - kExtraRef];
  }
  void Append(uint32_t op, uint32_t n);
  void Compact(OpRows* rows);
  void LinkUsers(uint32_t n);
  void RefillTable();
  void RebaseStamps();

  MemoryMeter* meter_;
  FlatArray<NodeRow> rows_;
  FlatArray<ClassInfo> info_;
  // Per node of more than two columns: these, then a pair (link, node) for
  // each.
  FlatArray<uint32_t> extra_;
  NodeTable table_;
  std::vector<OpRows> ops_;
  uint32_t stamp_base_ = 0;
  uint32_t stamp_ = 1;  // relative to the base
  size_t dead_ = 0;     // since the last sweep
};

}  // namespace encore::egraph

#include "encore/opt/egraph/node_store_inl.h"

#endif  // ENCORE_OPT_EGRAPH_NODE_STORE_H_
