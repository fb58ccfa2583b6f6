#include "encore/opt/egraph/core/node_store.h"

#include <algorithm>

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

}  // namespace encore::egraph
