// NodeStore: the columns of all nodes, the table that finds a node by its
// operator and columns, the lists of members and users of classes, and per
// operator the log of its nodes by the stamp of their last change.
//
// Ids here are plain 32-bit numbers; EGraph gives them their types. The store
// keeps what it is told: EGraph decides on canonical columns and congruence.
#ifndef ENCORE_OPT_EGRAPH_CORE_NODE_STORE_H_
#define ENCORE_OPT_EGRAPH_CORE_NODE_STORE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "encore/opt/egraph/core/change_log.h"
#include "encore/opt/egraph/core/flat_array.h"
#include "encore/opt/egraph/core/language.h"
#include "encore/opt/egraph/core/node_table.h"

namespace encore::egraph {

struct NodeRow {
  uint16_t op;  // with kRetiredBit; kDeadOp; kNoOp for a class without node
  uint16_t stamp;
  uint32_t arg[2];   // the columns; arg[0] = offset into extra if more than two
  uint32_t next;     // next member of the class, starting from node = class
  uint32_t link[2];  // next users of the classes arg[0], arg[1]
};
static_assert(sizeof(NodeRow) == 24);

// What inserting and merging read of node n and of class n.
struct ClassRow {
  uint32_t cls;    // of node n; the union-find link of class n
  uint32_t users;  // first user of class n
};

class NodeStore {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFFu;
  static constexpr uint16_t kRetiredBit = 0x8000;
  static constexpr uint16_t kDeadOp = 0xFFFF;
  static constexpr uint16_t kNoOp = 0xFFFE;

  explicit NodeStore(PagePool* pool);
  NodeStore(const NodeStore& other, PagePool* pool);
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
  // The class of node n as last recorded, exact after EGraph::Rebuild.
  uint32_t class_of(uint32_t n) const { return classes_[n].cls; }
  void set_class_of(uint32_t n, uint32_t cls) { classes_[n].cls = cls; }
  // A bit for each operator of a class's members; some share one, and bits of
  // dead members may stay.
  uint32_t class_ops(uint32_t c) const { return ops_and_rank_[c] & kOpBits; }
  static uint32_t OpBit(uint32_t op) { return uint32_t{1} << op % kRankShift; }
  void MergeClassOps(uint32_t into, uint32_t from) {
    ops_and_rank_[into] |= class_ops(from);
  }
  // Of class c in its union-find tree.
  uint32_t rank(uint32_t c) const { return ops_and_rank_[c] >> kRankShift; }
  void IncrementRank(uint32_t c) { ops_and_rank_[c] += kOpBits + 1; }

  bool is_node(uint32_t n) const { return rows_[n].op < kNoOp; }
  bool live(uint32_t n) const { return rows_[n].op < kRetiredBit; }
  bool retired(uint32_t n) const { return is_node(n) && !live(n); }
  uint32_t op(uint32_t n) const { return rows_[n].op & ~kRetiredBit; }
  // REQUIRES: is_node(n), also below.
  std::span<const Value> args(uint32_t n) const;
  std::span<Value> args(uint32_t n);

  uint32_t Find(uint32_t c) const {
    while (classes_[c].cls != c) c = classes_[c].cls;
    return c;
  }

  uint64_t Hash(uint32_t op, const Value* args) const {
    return Hash(op, args, ops_[op].arity);
  }
  static uint64_t Hash(uint32_t op, const Value* args, size_t k);
  // A lookup in steps, for many nodes at a time: PrefetchSlot, StartLookup,
  // which asks for the row that is likely to be found and gives a place, and
  // Lookup from there.
  void PrefetchSlot(uint64_t hash) const { table_.slots().Prefetch(hash); }
  size_t StartLookup(uint64_t hash) const;
  size_t FirstPlace(uint64_t hash) const { return table_.slots().Home(hash); }
  // The node with these columns, or kNone and in `*place` where it belongs.
  // Retired nodes are found.
  uint32_t Lookup(uint32_t op, const Value* args, uint64_t hash,
                  size_t* place) const;
  uint32_t Lookup(uint32_t op, const Value* args, uint64_t hash) const {
    size_t place = FirstPlace(hash);
    return Lookup(op, args, hash, &place);
  }
  void PrefetchRow(uint32_t n) const { __builtin_prefetch(rows_.data() + n); }
  void PrefetchClass(uint32_t c) const {
    __builtin_prefetch(classes_.data() + c);
  }
  void PrefetchClassOps(uint32_t c) const {
    __builtin_prefetch(ops_and_rank_.data() + c);
  }

  // Appends a node in class `cls`, or where that is kNone in a class of its
  // own, and lists it everywhere. REQUIRES: Lookup gives kNone and `place`.
  uint32_t Create(uint32_t op, const Value* args, uint64_t hash, size_t place,
                  uint32_t cls);
  // Makes the table, and columns that are small, large enough for `more` nodes.
  void Expect(size_t more);
  // A class without a node.
  uint32_t CreateClass();
  // Nodes of one operator, by column; class columns need not be canonical.
  struct Batch {
    uint32_t op;
    std::span<const Value* const> columns;
    const Value* homes;  // classes to create them in; null: in their own
    size_t count;        // at most kMaxBatch
    bool find_nodes;     // `out` gets the nodes, otherwise their classes
    Value* out;
  };
  static constexpr size_t kMaxBatch = 64;
  // Finds or creates them, in passes, so that what one pass asks memory for has
  // come when the next one reads it. Those created have the highest rows.
  void FindOrCreate(const Batch& batch);

  // `hash` is that of its columns.
  void EraseFromTable(uint32_t n, uint64_t hash) { table_.Erase(hash, n); }
  void InsertIntoTable(uint32_t n, uint64_t hash, size_t place);
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
  void Restamp(uint32_t n);
  // What changes from now on has a stamp of its own.
  void NextStamp();
  uint32_t stamp() const { return stamp_base_ + stamp_; }
  // The row stamp from which on nodes are new to who last looked before
  // `since`.
  uint32_t RowStamp(uint32_t since) const;

  size_t num_live(uint32_t op) const {
    return op < ops_.size() ? ops_[op].live : 0;
  }
  // An upper bound of the live nodes of `op` with `from` <= stamp < `to`.
  size_t CountStamped(uint32_t op, uint32_t from, uint32_t to) const;
  // Writes the next of these nodes to `out`, oldest change first; fewer than
  // out.size() when there are no more.
  size_t NextStamped(uint32_t op, uint32_t from, uint32_t to,
                     ChangeLog::Cursor* cursor, std::span<uint32_t> out) const;
  // Calls each(n) for all of them.
  template <typename Each>
  void ForEachStamped(uint32_t op, uint32_t from, uint32_t to,
                      const Each& each) const;

  // A reference to a column of a node in a list of users.
  uint32_t first_user(uint32_t c) const { return classes_[c].users; }
  uint32_t user_node(uint32_t ref) const {
    return ref < kExtraRef ? ref >> 1 : extra_[ref - kExtraRef + 1];
  }
  // REQUIRES: is_node(user_node(ref)).
  uint32_t user_column(uint32_t ref) const;
  uint32_t next_user(uint32_t ref) const;

 private:
  static constexpr uint32_t kExtraRef = 0x80000000u;
  static constexpr uint32_t kMaxRows = 0x3FFFFFFFu;
  static constexpr uint32_t kRankShift = 27;
  static constexpr uint32_t kOpBits = (1u << kRankShift) - 1;
#ifdef ENCORE_RARE_PATHS
  static constexpr uint32_t kMaxRowStamp = 9;
#else
  static constexpr uint32_t kMaxRowStamp = 0xFFFF;
#endif
  struct OpRows {
    uint32_t arity = 0;
    bool is_relation = false;
    uint8_t inline_classes = 0;     // bit k: column k < 2 of inline ones
    std::vector<uint8_t> is_class;  // by column
    ChangeLog log;
    size_t live = 0;
  };

  static constexpr uint64_t kHashFactor = 0x9E3779B97F4A7C15u;
  static uint64_t Mix(uint64_t h, uint64_t x);
  uint32_t& LinkOf(uint32_t ref) {
    return ref < kExtraRef ? rows_[ref >> 1].link[ref & 1]
                           : extra_[ref - kExtraRef];
  }
  // Logs nodes as changed now.
  void Log(uint32_t op, uint32_t first, uint32_t count);
  void Compact(uint32_t op);
  void LinkUsers(uint32_t n);
  void LinkInlineUsers(const OpRows& op, uint32_t n, NodeRow* row);
  template <uint32_t kArity>
  class InlineBatch;
  template <uint32_t kArity>
  void FindOrCreateInline(const Batch& batch);
  void FindOrCreateWide(const Batch& batch);
  void MakeRoom(size_t nodes);
  void RefillTable(size_t more, size_t expected = 0);
  void RebaseStamps();

  PagePool* pool_;
  FlatArray<NodeRow> rows_;
  FlatArray<ClassRow> classes_;
  FlatArray<uint32_t> ops_and_rank_;  // by class
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

#include "encore/opt/egraph/core/node_store_inl.h"

#endif  // ENCORE_OPT_EGRAPH_CORE_NODE_STORE_H_
