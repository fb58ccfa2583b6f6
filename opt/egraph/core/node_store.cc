#include "encore/opt/egraph/core/node_store.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "encore/ir/support/check.h"

namespace encore::egraph {

NodeStore::NodeStore(PagePool* pool)
    : pool_(pool),
      rows_(pool),
      classes_(pool),
      ops_and_rank_(pool),
      extra_(pool),
      table_(pool) {}

NodeStore::NodeStore(const NodeStore& other, PagePool* pool)
    : pool_(pool),
      rows_(other.rows_, pool),
      classes_(other.classes_, pool),
      ops_and_rank_(other.ops_and_rank_, pool),
      extra_(other.extra_, pool),
      table_(other.table_, pool),
      stamp_base_(other.stamp_base_),
      stamp_(other.stamp_),
      dead_(other.dead_) {
  ops_.reserve(other.ops_.size());
  for (const OpRows& op : other.ops_) {
    ops_.push_back({.arity = op.arity,
                    .is_relation = op.is_relation,
                    .inline_classes = op.inline_classes,
                    .is_class = op.is_class,
                    .log = ChangeLog(op.log, pool),
                    .live = op.live});
  }
}

void NodeStore::AddOps(const Language& language) {
  for (size_t i = ops_.size(); i < language.num_ops(); ++i) {
    OpRows rows;
    rows.log = ChangeLog(pool_);
    for (const SortId sort : language.op(OpId(i)).args) {
      rows.is_class.push_back(language.is_class(sort));
    }
    rows.arity = rows.is_class.size();
    rows.is_relation = language.is_relation(OpId(i));
    for (uint32_t k = 0; rows.arity <= 2 && k < rows.arity; ++k) {
      rows.inline_classes |= rows.is_class[k] << k;
    }
    ops_.push_back(std::move(rows));
  }
}

uint32_t NodeStore::CreateClass() {
  const uint32_t n = rows_.size();
  ENCORE_CHECK(n < kMaxRows) << "more than 2^30 nodes";
  *rows_.Extend(1) = {.op = kNoOp,
                      .stamp = static_cast<uint16_t>(stamp_),
                      .arg = {0, 0},
                      .next = kNone,
                      .link = {kNone, kNone}};
  *classes_.Extend(1) = {.cls = n, .users = kNone};
  *ops_and_rank_.Extend(1) = 0;
  return n;
}

uint32_t NodeStore::Create(uint32_t op, const Value* args, uint64_t hash,
                           size_t place, uint32_t cls) {
  OpRows& rows = ops_[op];
  const size_t k = rows.arity;
  const uint32_t n = CreateClass();
  NodeRow& row = rows_[n];
  row.op = op;
  if (k <= 2) {
    for (size_t i = 0; i < k; ++i) row.arg[i] = args[i];
    LinkInlineUsers(rows, n, &row);
  } else {
    ENCORE_CHECK(extra_.size() + 3 * k < kExtraRef - 1) << "too many columns";
    row.arg[0] = extra_.size();
    uint32_t* const block = extra_.Extend(3 * k);
    std::copy(args, args + k, block);
    for (size_t i = 0; i < k; ++i) block[k + 2 * i + 1] = n;
    LinkUsers(n);
  }
  if (cls != kNone) {
    classes_[n].cls = cls;
    row.next = rows_[cls].next;
    rows_[cls].next = n;
    ops_and_rank_[cls] |= OpBit(op);
  } else {
    ops_and_rank_[n] = OpBit(op);
  }
  Log(op, n, 1);
  ++rows.live;
  InsertIntoTable(n, hash, place);
  return n;
}

void NodeStore::LinkUsers(uint32_t n) {
  NodeRow& row = rows_[n];
  const OpRows& op = ops_[row.op & ~kRetiredBit];
  if (op.arity <= 2) return LinkInlineUsers(op, n, &row);
  const uint32_t* const args = &extra_[row.arg[0]];
  for (uint32_t i = 0; i < op.arity; ++i) {
    if (!op.is_class[i]) continue;
    const uint32_t ref = kExtraRef + row.arg[0] + op.arity + 2 * i;
    ClassRow& child = classes_[args[i]];
    LinkOf(ref) = child.users;
    child.users = ref;
  }
}

void NodeStore::InsertIntoTable(uint32_t n, uint64_t hash, size_t place) {
  if (table_.MustRefill(1, n)) {
    RefillTable(1);
    // The refill has put n in where its row was complete.
    return;
  }
  table_.InsertAt(place, hash, n);
}

void NodeStore::Expect(size_t more) {
  // Small columns are moved when they grow, and rather once than twice; larger
  // ones stay where they are.
  const size_t room = more + more / 4;
  if ((rows_.size() + room) * sizeof(NodeRow) <= kLargePage / 2) {
    rows_.MakeRoom(room);
    classes_.MakeRoom(room);
    ops_and_rank_.MakeRoom(room);
  }
  if (table_.MustRefill(more, rows_.size() + more)) {
    RefillTable(1, more);
  }
}

// For `more` nodes than there are, and for `expected`.
void NodeStore::RefillTable(size_t more, size_t expected) {
  table_.Reset(table_.live() + more, table_.live() + expected,
               rows_.size() + std::max(more, expected));
  constexpr uint32_t kBlock = 32;  // hashed ahead, so that slots are near
  uint64_t hashes[kBlock];
  for (uint32_t begin = 0; begin < rows_.size(); begin += kBlock) {
    const uint32_t end = std::min<uint32_t>(begin + kBlock, rows_.size());
    for (uint32_t n = begin; n < end; ++n) {
      if (!is_node(n)) continue;
      hashes[n - begin] = Hash(op(n), args(n).data());
      table_.slots().Prefetch(hashes[n - begin]);
    }
    for (uint32_t n = begin; n < end; ++n) {
      if (is_node(n)) table_.Insert(hashes[n - begin], n);
    }
  }
}

void NodeStore::Kill(uint32_t n) {
  if (live(n)) {
    OpRows& rows = ops_[rows_[n].op];
    --rows.live;
    rows.log.AddStale();
  }
  rows_[n].op = kDeadOp;
  ++dead_;
}

void NodeStore::Retire(uint32_t n) {
  OpRows& rows = ops_[rows_[n].op];
  --rows.live;
  rows.log.AddStale();
  rows_[n].op |= kRetiredBit;
}

void NodeStore::MaybeSweep() {
  if (dead_ < 64 || dead_ < rows_.size() / 5) return;
  dead_ = 0;
  for (uint32_t c = 0; c < rows_.size(); ++c) {
    rows_[c].next = kNone;
    classes_[c].users = kNone;
    ops_and_rank_[c] &= ~kOpBits;
  }
  for (uint32_t n = 0; n < rows_.size(); ++n) {
    if (!is_node(n)) continue;
    const uint32_t c = classes_[n].cls;
    ops_and_rank_[c] |= OpBit(op(n));
    if (c != n) {
      rows_[n].next = rows_[c].next;
      rows_[c].next = n;
    }
    LinkUsers(n);
  }
}

void NodeStore::Compact(uint32_t op) {
  ops_[op].log.Compact([&](uint32_t n, uint32_t stamp) {
    return rows_[n].op == op && rows_[n].stamp == stamp;
  });
}

void NodeStore::NextStamp() {
  if (stamp_ == kMaxRowStamp) RebaseStamps();
  ++stamp_;
}

void NodeStore::RebaseStamps() {
  // The older half becomes stamp 0: new to whoever looked no later.
  const uint32_t shift = stamp_ / 2;
  for (uint32_t op = 0; op < ops_.size(); ++op) Compact(op);
  for (NodeRow& row : rows_) row.stamp -= std::min<uint32_t>(row.stamp, shift);
  for (OpRows& rows : ops_) rows.log.Rebase(shift);
  stamp_base_ += shift;
  stamp_ -= shift;
}

size_t NodeStore::CountStamped(uint32_t op, uint32_t from, uint32_t to) const {
  return ops_[op].log.Count(from, to);
}

size_t NodeStore::NextStamped(uint32_t op, uint32_t from, uint32_t to,
                              ChangeLog::Cursor* cursor,
                              std::span<uint32_t> out) const {
  return ops_[op].log.Next(
      from, to, cursor, out,
      [&](uint32_t n, uint32_t stamp) {
        return rows_[n].op == op && rows_[n].stamp == stamp;
      },
      [&](uint32_t n) { PrefetchRow(n); });
}

// --- FindOrCreate: where most of the time of applying rules goes.

// Nodes of one or two columns, which lie in their rows. What a phase reads at
// random the one before has asked for: classes, then slots of the table, then
// what slots name and the lists of homes. It is a local value, and all of it is
// inlined, so that what it holds stays in registers.
template <uint32_t kArity>
class NodeStore::InlineBatch {
 public:
  struct Lanes {
    Value args[kArity][kMaxBatch];
    uint64_t hashes[kMaxBatch];
    uint32_t homes[kMaxBatch];
    uint32_t places[kMaxBatch];
  };

  // REQUIRES: MakeRoom(batch.count).
  InlineBatch(NodeStore* store, const Batch& batch)
      : rows_(store->rows_.data()),
        classes_(store->classes_.data()),
        class_ops_(store->ops_and_rank_.data()),
        slots_(store->table_.slots()),
        slot_values_(store->table_.data()),
        batch_(batch),
        has_homes_(batch.homes != nullptr),
        op_bit_(OpBit(batch.op)),
        stamp_(store->stamp_),
        inline_classes_(store->ops_[batch.op].inline_classes),
        next_(store->rows_.size()) {}

  // The number of nodes after those created.
  [[gnu::always_inline]] uint32_t Run(Lanes* lanes) {
    CanonicalizeArgs(lanes);
    Hash(lanes);
    // Slots have time to come.
    if (has_homes_) Canonicalize(batch_.homes, lanes->homes);
    Probe(*lanes, lanes->places);
    for (size_t i = 0; i < batch_.count; ++i) {
      size_t place = lanes->places[i];
      const uint32_t found = Find(*lanes, i, &place);
      if (found == kNone) {
        Create(*lanes, i, place);
      } else {
        batch_.out[i] = batch_.find_nodes ? found : classes_[found].cls;
      }
    }
    return next_;
  }

 private:
  bool is_class(uint32_t column) const { return inline_classes_ >> column & 1; }

  [[gnu::always_inline]] void Canonicalize(const Value* from, Value* to) const {
    for (size_t i = 0; i < batch_.count; ++i) {
      uint32_t c = from[i];
      while (classes_[c].cls != c) c = classes_[c].cls;
      to[i] = c;
    }
  }

  [[gnu::always_inline]] void CanonicalizeArgs(Lanes* lanes) const {
    for (uint32_t k = 0; k < kArity; ++k) {
      if (is_class(k)) {
        Canonicalize(batch_.columns[k], lanes->args[k]);
      } else {
        std::copy_n(batch_.columns[k], batch_.count, lanes->args[k]);
      }
    }
  }

  [[gnu::always_inline]] void Hash(Lanes* lanes) const {
    for (size_t i = 0; i < batch_.count; ++i) {
      const Value key[2] = {lanes->args[0][i], lanes->args[kArity - 1][i]};
      lanes->hashes[i] = NodeStore::Hash(batch_.op, key, kArity);
      slots_.Prefetch(lanes->hashes[i]);
    }
  }

  [[gnu::always_inline]] void Probe(const Lanes& lanes,
                                    uint32_t* places) const {
    for (size_t i = 0; i < batch_.count; ++i) {
      places[i] = slots_.Probe(lanes.hashes[i]);
      const uint32_t n = slots_.IdAt(places[i]);
      if (n != kNone) {
        __builtin_prefetch(rows_ + n);
        __builtin_prefetch(classes_ + n);
      } else if (has_homes_) {
        __builtin_prefetch(rows_ + lanes.homes[i]);
        __builtin_prefetch(class_ops_ + lanes.homes[i]);
      }
    }
  }

  [[gnu::always_inline]] uint32_t Find(const Lanes& lanes, size_t i,
                                       size_t* place) const {
    const Value a = lanes.args[0][i];
    const Value b = lanes.args[kArity - 1][i];
    return slots_.Find(lanes.hashes[i], place, [&](uint32_t n) {
      const NodeRow& row = rows_[n];
      return (row.op & ~kRetiredBit) == batch_.op && row.arg[0] == a &&
             row.arg[kArity - 1] == b;
    });
  }

  [[gnu::always_inline]] void Create(const Lanes& lanes, size_t i,
                                     size_t place) {
    const uint32_t n = next_++;
    NodeRow row = {
        .op = static_cast<uint16_t>(batch_.op),
        .stamp = stamp_,
        .arg = {lanes.args[0][i], kArity == 2 ? lanes.args[1][i] : 0},
        .next = kNone,
        .link = {kNone, kNone}};
    for (uint32_t k = 0; k < kArity; ++k) {
      if (!is_class(k)) continue;
      row.link[k] = std::exchange(classes_[row.arg[k]].users, n << 1 | k);
    }
    uint32_t cls = n;
    if (has_homes_) {
      cls = lanes.homes[i];
      class_ops_[n] = 0;
      class_ops_[cls] |= op_bit_;
      row.next = std::exchange(rows_[cls].next, n);
    } else {
      class_ops_[n] = op_bit_;
    }
    classes_[n] = {cls, kNone};
    rows_[n] = row;
    batch_.out[i] = batch_.find_nodes ? n : cls;
    slot_values_[place] = slots_.Slot(lanes.hashes[i], n);
  }

  NodeRow* const rows_;
  ClassRow* const classes_;
  uint32_t* const class_ops_;
  const NodeTable::Slots slots_;
  uint32_t* const slot_values_;
  const Batch batch_;
  const bool has_homes_;
  const uint32_t op_bit_;
  const uint16_t stamp_;
  const uint8_t inline_classes_;
  uint32_t next_;  // the row of the next node created
};

template <uint32_t kArity>
void NodeStore::FindOrCreateInline(const Batch& batch) {
  typename InlineBatch<kArity>::Lanes lanes;
  const uint32_t first = rows_.size();
  const uint32_t created = InlineBatch<kArity>(this, batch).Run(&lanes) - first;
  if (created == 0) return;
  table_.CountInserted(created);
  rows_.Extend(created);
  classes_.Extend(created);
  ops_and_rank_.Extend(created);
  ops_[batch.op].live += created;
  Log(batch.op, first, created);
}

void NodeStore::MakeRoom(size_t nodes) {
  const size_t rows = rows_.size() + nodes;
  ENCORE_CHECK(rows < kMaxRows) << "more than 2^30 nodes";
  rows_.MakeRoom(nodes);
  classes_.MakeRoom(nodes);
  ops_and_rank_.MakeRoom(nodes);
  if (table_.MustRefill(nodes, rows)) RefillTable(nodes);
}

// Nodes of no column or of more than two.
void NodeStore::FindOrCreateWide(const Batch& batch) {
  const size_t arity = batch.columns.size();
  std::vector<Value> args(arity * batch.count);
  uint64_t hashes[kMaxBatch];
  size_t places[kMaxBatch];
  for (size_t i = 0; i < batch.count; ++i) {
    Value* const key = args.data() + i * arity;
    for (size_t k = 0; k < arity; ++k) {
      const Value value = batch.columns[k][i];
      key[k] = is_class_column(batch.op, k) ? Find(value) : value;
    }
    hashes[i] = Hash(batch.op, key, arity);
    PrefetchSlot(hashes[i]);
  }
  for (size_t i = 0; i < batch.count; ++i) places[i] = StartLookup(hashes[i]);
  for (size_t i = 0; i < batch.count; ++i) {
    const Value* const key = args.data() + i * arity;
    uint32_t n = Lookup(batch.op, key, hashes[i], &places[i]);
    if (n == kNone) {
      const uint32_t home =
          batch.homes != nullptr ? Find(batch.homes[i]) : kNone;
      n = Create(batch.op, key, hashes[i], places[i], home);
    }
    batch.out[i] = batch.find_nodes ? n : classes_[n].cls;
  }
}

void NodeStore::FindOrCreate(const Batch& batch) {
  MakeRoom(batch.count);
  switch (ops_[batch.op].arity) {
    case 1:
      return FindOrCreateInline<1>(batch);
    case 2:
      return FindOrCreateInline<2>(batch);
    default:
      return FindOrCreateWide(batch);
  }
}

}  // namespace encore::egraph
