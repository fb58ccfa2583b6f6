// NodeStore::FindOrCreate: where most of the time of applying rules goes.
#include <algorithm>
#include <utility>
#include <vector>

#include "encore/ir/support/check.h"
#include "encore/opt/egraph/node_store.h"

namespace encore::egraph {

// Nodes of one or two columns, which lie in their rows. What a phase reads at
// random the one before has asked for: classes, then slots of the table, then
// what slots name and the lists of homes.
template <uint32_t kArity>
class NodeStore::InlineBatch {
 public:
  // REQUIRES: MakeRoom(batch.count).
  InlineBatch(NodeStore* store, const Batch& batch)
      : store_(store),
        batch_(batch),
        rows_(store->rows_.data()),
        classes_(store->classes_.data()),
        class_ops_(store->ops_and_rank_.data()),
        op_bit_(OpBit(batch.op)),
        inline_classes_(store->ops_[batch.op].inline_classes),
        next_(store->rows_.size()) {}

  void Run() {
    Canonicalize();
    Hash();
    Probe();
    for (size_t i = 0; i < batch_.count; ++i) {
      size_t place = places_[i];
      const uint32_t found = Find(i, &place);
      if (found != kNone) {
        batch_.out[i] = batch_.find_nodes ? found : classes_[found].cls;
      } else {
        Create(i, place);
      }
    }
    List();
  }

 private:
  bool is_class(uint32_t column) const { return inline_classes_ >> column & 1; }
  uint32_t Root(uint32_t c) const {
    while (classes_[c].cls != c) c = classes_[c].cls;
    return c;
  }

  void Canonicalize() {
    for (uint32_t k = 0; k < kArity; ++k) {
      const Value* const column = batch_.columns[k];
      for (size_t i = 0; i < batch_.count; ++i) {
        args_[k][i] = is_class(k) ? Root(column[i]) : column[i];
      }
    }
    if (batch_.homes == nullptr) return;
    for (size_t i = 0; i < batch_.count; ++i) {
      homes_[i] = Root(batch_.homes[i]);
    }
  }

  void Hash() {
    for (size_t i = 0; i < batch_.count; ++i) {
      const Value key[2] = {args_[0][i], args_[kArity - 1][i]};
      hashes_[i] = NodeStore::Hash(batch_.op, key, kArity);
      store_->table_.Prefetch(hashes_[i]);
    }
  }

  void Probe() {
    for (size_t i = 0; i < batch_.count; ++i) {
      places_[i] = store_->table_.Probe(hashes_[i]);
      const uint32_t n = store_->table_.IdAt(places_[i]);
      if (n != kNone) {
        store_->PrefetchRow(n);
        store_->PrefetchClass(n);
      } else if (batch_.homes != nullptr) {
        store_->PrefetchRow(homes_[i]);
        store_->PrefetchClassOps(homes_[i]);
      }
    }
  }

  uint32_t Find(size_t i, size_t* place) const {
    const Value a = args_[0][i];
    const Value b = args_[kArity - 1][i];
    return store_->table_.Find(hashes_[i], place, [&](uint32_t n) {
      const NodeRow& row = rows_[n];
      return (row.op & ~kRetiredBit) == batch_.op && row.arg[0] == a &&
             row.arg[kArity - 1] == b;
    });
  }

  void Create(size_t i, size_t place) {
    const uint32_t n = next_++;
    NodeRow row = {.op = static_cast<uint16_t>(batch_.op),
                   .stamp = static_cast<uint16_t>(store_->stamp_),
                   .arg = {args_[0][i], kArity == 2 ? args_[1][i] : 0},
                   .next = kNone,
                   .link = {kNone, kNone}};
    for (uint32_t k = 0; k < kArity; ++k) {
      if (!is_class(k)) continue;
      row.link[k] = std::exchange(classes_[row.arg[k]].users, n << 1 | k);
    }
    uint32_t cls = n;
    class_ops_[n] = op_bit_;
    if (batch_.homes != nullptr) {
      cls = homes_[i];
      class_ops_[n] = 0;
      class_ops_[cls] |= op_bit_;
      row.next = std::exchange(rows_[cls].next, n);
    }
    classes_[n] = {cls, kNone};
    rows_[n] = row;
    batch_.out[i] = batch_.find_nodes ? n : cls;
    store_->table_.InsertAt(place, hashes_[i], n);
  }

  void List() {
    const uint32_t first = store_->rows_.size();
    const uint32_t created = next_ - first;
    if (created == 0) return;
    store_->rows_.Extend(created);
    store_->classes_.Extend(created);
    store_->ops_and_rank_.Extend(created);
    store_->ops_[batch_.op].live += created;
    store_->Log(batch_.op, first, created);
  }

  NodeStore* const store_;
  const Batch& batch_;
  NodeRow* const rows_;
  ClassRow* const classes_;
  uint32_t* const class_ops_;
  const uint32_t op_bit_;
  const uint8_t inline_classes_;
  uint32_t next_;  // the row of the next node created
  Value args_[kArity][kMaxBatch];
  uint64_t hashes_[kMaxBatch];
  uint32_t homes_[kMaxBatch];
  uint32_t places_[kMaxBatch];
};

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
      return InlineBatch<1>(this, batch).Run();
    case 2:
      return InlineBatch<2>(this, batch).Run();
    default:
      return FindOrCreateWide(batch);
  }
}

}  // namespace encore::egraph
