// NodeStore::FindOrCreate: where most of the time of applying rules goes.
#include <algorithm>
#include <utility>
#include <vector>

#include "encore/ir/support/check.h"
#include "encore/opt/egraph/core/node_store.h"

namespace encore::egraph {

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
