// EGraph::Rebuild: congruence and facts after unions.
//
// A class that lost a union gives its members and users to the one that won.
// The users name another class now: they are taken out of the table and put in
// again, where they may meet an equal node; then they die, and their classes
// are united in turn. All of it jumps about in memory, so that classes, and the
// users they have, are taken by the dozen and asked for ahead.
#include <algorithm>
#include <span>

#include "encore/opt/egraph/core/egraph.h"

namespace encore::egraph {
namespace {

#ifdef ENCORE_RARE_PATHS
constexpr size_t kDoneChunk = 2;
constexpr size_t kMergesAtOnce = 3;
constexpr size_t kRepairsAtOnce = 2;
#else
constexpr size_t kDoneChunk = 4096;
constexpr size_t kMergesAtOnce = 64;
constexpr size_t kRepairsAtOnce = 64;
#endif

}  // namespace

void EGraph::Rebuild() {
  size_t merged = 0;
  while (merged < pending_.size() || !fact_work_.empty()) {
    while (merged < pending_.size()) {
      uint32_t losers[kMergesAtOnce];
      const size_t count = std::min(kMergesAtOnce, pending_.size() - merged);
      std::copy_n(pending_.begin() + merged, count, losers);
      MergeClasses({losers, count});
      merged += count;
      // What congruence appends takes the room of what is done.
      if (merged >= kDoneChunk && merged * 2 >= pending_.size()) {
        std::copy(pending_.begin() + merged, pending_.end(), pending_.begin());
        pending_.resize(pending_.size() - merged);
        merged = 0;
      }
    }
    pending_.clear();
    merged = 0;
    if (!fact_work_.empty()) PropagateFacts();
  }
  store_.MaybeSweep();
}

void EGraph::MergeClasses(std::span<const uint32_t> losers) {
  for (const uint32_t loser : losers) {
    store_.PrefetchClass(loser);
    store_.PrefetchRow(loser);
    store_.PrefetchClassOps(loser);
  }
  for (const uint32_t loser : losers) {
    const uint32_t winner = store_.Find(loser);
    store_.PrefetchRow(winner);
    store_.PrefetchClassOps(winner);
    const uint32_t ref = store_.first_user(loser);
    if (ref != NodeStore::kNone) store_.PrefetchRow(store_.user_node(ref));
  }
  uint32_t users[kRepairsAtOnce];
  size_t num_users = 0;
  for (const uint32_t loser : losers) {
    const uint32_t winner = store_.Find(loser);
    store_.MergeClassOps(winner, loser);
    store_.set_class_of(loser, winner);  // it may be no node
    store_.SpliceMembers(winner, loser, [&](uint32_t n) {
      store_.set_class_of(n, winner);
      store_.Restamp(n);
    });
    store_.SpliceUsers(winner, loser, [&](uint32_t n) {
      users[num_users++] = n;
      if (num_users < kRepairsAtOnce) return;
      RepairUsers(users);
      num_users = 0;
    });
  }
  RepairUsers({users, num_users});
  if (analyses_.empty()) return;
  for (const uint32_t loser : losers) MergeFacts(store_.Find(loser), loser);
}

// At most kRepairsAtOnce nodes, of which one column or more may name a class
// that is no more. A node may come twice.
void EGraph::RepairUsers(std::span<const uint32_t> nodes) {
  struct Repair {
    uint32_t node;
    Value before[2];
    Value after[2];
    uint64_t hash_before;
    uint64_t hash;
  };
  Repair repairs[kRepairsAtOnce];
  size_t count = 0;
  for (const uint32_t n : nodes) {
    for (const Value arg : store_.row(n).arg) store_.PrefetchClass(arg);
  }
  for (const uint32_t n : nodes) {
    if (!store_.is_node(n)) continue;  // a wide one that came before
    const uint32_t op = store_.op(n);
    const size_t arity = store_.arity(op);
    if (arity > 2) {
      RepairWide(n);
      continue;
    }
    Repair& repair = repairs[count];
    repair.node = n;
    for (size_t k = 0; k < 2; ++k) {
      const Value arg = store_.row(n).arg[k];
      repair.before[k] = arg;
      repair.after[k] =
          k < arity && store_.is_class_column(op, k) ? store_.Find(arg) : arg;
    }
    if (std::equal(repair.before, repair.before + 2, repair.after)) continue;
    repair.hash_before = store_.Hash(op, repair.before);
    store_.PrefetchSlot(repair.hash_before);
    repair.hash = store_.Hash(op, repair.after);
    store_.PrefetchSlot(repair.hash);
    ++count;
  }
  for (const Repair& repair : std::span(repairs, count)) {
    store_.StartLookup(repair.hash);
  }
  for (const Repair& repair : std::span(repairs, count)) {
    const uint32_t n = repair.node;
    if (!store_.is_node(n)) continue;
    Value* const args = store_.row(n).arg;
    if (!std::equal(repair.before, repair.before + 2, args)) continue;
    store_.EraseFromTable(n, repair.hash_before);
    std::copy_n(repair.after, 2, args);
    Reinsert(n, repair.hash);
  }
}

// RepairUsers for a node of more than two columns.
void EGraph::RepairWide(uint32_t node) {
  if (!store_.is_node(node)) return;
  const uint32_t op = store_.op(node);
  const std::span<Value> args = store_.args(node);
  bool changed = false;
  for (size_t i = 0; i < args.size() && !changed; ++i) {
    changed = store_.is_class_column(op, i) && store_.Find(args[i]) != args[i];
  }
  if (!changed) return;
  store_.EraseFromTable(node, store_.Hash(op, args.data()));
  for (size_t i = 0; i < args.size(); ++i) {
    if (store_.is_class_column(op, i)) args[i] = store_.Find(args[i]);
  }
  Reinsert(node, store_.Hash(op, args.data()));
}

// A node whose columns have changed and which is in the table no more.
void EGraph::Reinsert(uint32_t node, uint64_t hash) {
  const uint32_t op = store_.op(node);
  size_t place = store_.FirstPlace(hash);
  const uint32_t other =
      store_.Lookup(op, store_.args(node).data(), hash, &place);
  if (other == NodeStore::kNone) {
    store_.InsertIntoTable(node, hash, place);
    store_.Restamp(node);
    return;
  }
  // Two nodes have become one. It stays retired if one of them was.
  const bool relation = store_.is_relation(op);
  if (store_.live(node)) {
    if (!relation) --num_enodes_;
    if (store_.retired(other)) ++version_;
  } else if (store_.live(other)) {
    Retire(NodeId(other));
  }
  store_.Kill(node);
  if (!relation) {
    Union(ClassId(other), ClassId(node), ProofStep::Congruence());
  }
}

void EGraph::MergeFacts(uint32_t winner, uint32_t loser) {
  bool changed = false;
  for (const auto& analysis : analyses_) {
    const Analysis::Merged merged =
        analysis->Merge(this, ClassId(winner), ClassId(loser));
    changed |= merged.into_changed || merged.from_changed;
  }
  if (changed) {
    FactChanged(winner);
  } else {
    fact_work_.push_back(2 * winner);
  }
}

// For a node that has just been created.
void EGraph::MakeFacts(uint32_t node) {
  const uint32_t home = store_.class_of(node);
  if (home != node) {
    JoinFacts(node, store_.Find(home));
    fact_work_.push_back(2 * home);
    return;
  }
  for (const auto& analysis : analyses_) {
    analysis->Make(*this, NodeId(node), ClassId(node), true);
  }
  for (const auto& analysis : analyses_) {
    analysis->Modify(this, Find(ClassId(node)));
  }
}

// The nodes that hold the class, and those in it, must be looked at again by
// rules, and those that hold it by analyses.
void EGraph::FactChanged(uint32_t cls) {
  fact_work_.push_back(2 * cls + 1);
  for (uint32_t n = cls; n != NodeStore::kNone; n = store_.row(n).next) {
    if (store_.is_node(n)) store_.Restamp(n);
  }
  for (uint32_t ref = store_.first_user(cls); ref != NodeStore::kNone;
       ref = store_.next_user(ref)) {
    const uint32_t n = store_.user_node(ref);
    if (store_.is_node(n)) store_.Restamp(n);
  }
}

// In rounds, each class once in a round and in ascending order: what is made
// later mostly uses what was made before.
void EGraph::PropagateFacts() {
  FlatArray<uint32_t> work(pool_.get());
  work.swap(fact_work_);
  for (uint32_t& entry : work) {
    entry = 2 * store_.Find(entry / 2) + entry % 2;
  }
  std::sort(work.begin(), work.end());
  for (size_t i = 0; i < work.size(); ++i) {
    const uint32_t cls = work[i] / 2;
    if (i + 1 < work.size() && work[i + 1] / 2 == cls) continue;
    if (work[i] % 2 == 1) {
      // Nodes may be created by Modify of others; users are read before.
      for (const NodeId user : Users(ClassId(store_.Find(cls)))) {
        RemakeFacts(user.value());
      }
    }
    for (const auto& analysis : analyses_) {
      analysis->Modify(this, Find(ClassId(cls)));
    }
  }
}

void EGraph::RemakeFacts(uint32_t node) {
  if (language_.is_relation(op(NodeId(node)))) return;
  JoinFacts(node, class_of(NodeId(node)).value());
}

void EGraph::JoinFacts(uint32_t node, uint32_t cls) {
  bool changed = false;
  for (const auto& analysis : analyses_) {
    changed |= analysis->Make(*this, NodeId(node), ClassId(cls), false);
  }
  if (changed) FactChanged(cls);
}

}  // namespace encore::egraph
