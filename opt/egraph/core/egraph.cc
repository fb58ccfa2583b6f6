#include "encore/opt/egraph/core/egraph.h"

#include <algorithm>
#include <span>

#include "encore/ir/support/check.h"

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

EGraph::EGraph(Language language, Options options)
    : language_(std::move(language)),
      pool_(std::make_unique<PagePool>()),
      store_(pool_.get()),
      pending_(pool_.get()),
      fact_work_(pool_.get()) {
  if (options.explanations) {
    proofs_ = std::make_unique<ProofLog>(pool_.get());
    proofs_->AddNode(ProofLog::kNone, {});
  }
  store_.CreateClass();  // the unit
}

EGraph::EGraph(const EGraph& other, CloneTag)
    : language_(other.language_),
      pool_(std::make_unique<PagePool>()),
      store_(other.store_, pool_.get()),
      pending_(other.pending_, pool_.get()),
      fact_work_(other.fact_work_, pool_.get()),
      error_(other.error_),
      num_enodes_(other.num_enodes_),
      num_classes_(other.num_classes_),
      version_(other.version_) {
  for (const auto& analysis : other.analyses_) {
    analyses_.push_back(analysis->Clone());
  }
  if (other.proofs_ != nullptr) {
    proofs_ = std::make_unique<ProofLog>(*other.proofs_, pool_.get());
  }
}

// By exchange, so that each array stays in its pool.
EGraph& EGraph::operator=(EGraph&& other) noexcept {
  std::swap(language_, other.language_);
  std::swap(pool_, other.pool_);
  std::swap(store_, other.store_);
  pending_.swap(other.pending_);
  fact_work_.swap(other.fact_work_);
  std::swap(analyses_, other.analyses_);
  std::swap(proofs_, other.proofs_);
  std::swap(error_, other.error_);
  std::swap(num_enodes_, other.num_enodes_);
  std::swap(num_classes_, other.num_classes_);
  std::swap(version_, other.version_);
  return *this;
}

EGraph EGraph::Clone() const { return EGraph(*this, CloneTag()); }

size_t EGraph::AddAnalysis(std::unique_ptr<Analysis> analysis) {
  ENCORE_CHECK(store_.num_rows() == 1) << "analyses come before nodes";
  analyses_.push_back(std::move(analysis));
  return analyses_.size() - 1;
}

ClassId EGraph::Find(ClassId c) const {
  return ClassId(store_.Find(c.value()));
}

EGraph::Columns EGraph::Canonical(uint32_t op,
                                  std::span<const Value> args) const {
  Columns canonical(args.begin(), args.end());
  for (size_t i = 0; i < args.size(); ++i) {
    if (store_.is_class_column(op, i)) canonical[i] = store_.Find(args[i]);
  }
  return canonical;
}

ClassId EGraph::Add(OpId op, std::span<const Value> args) {
  EnsureOp(op);
  ENCORE_DCHECK_EQ(args.size(), store_.arity(op.value()));
  const Columns canonical = Canonical(op.value(), args);
  const uint64_t hash = store_.Hash(op.value(), canonical.data());
  return ClassId(AddCanonical(op.value(), canonical.data(), args.size(), hash,
                              store_.FirstPlace(hash), NodeStore::kNone));
}

ClassId EGraph::AddWritten(OpId op, std::span<const Value> args) {
  const ClassId found = Add(op, args);
  if (proofs_ == nullptr || store_.is_relation(op.value())) return found;
  if (std::ranges::equal(proofs_->term(found.value()).args, args)) return found;
  const uint32_t n = store_.CreateClass();
  store_.set_class_of(n, store_.Find(found.value()));
  proofs_->AddNode(op.value(), args);
  proofs_->AddUnion(n, found.value(), ProofStep::Congruence());
  return ClassId(n);
}

size_t EGraph::AddBatch(OpId op, std::span<const Value* const> columns,
                        const Value* homes, size_t count, Value* out) {
  static constexpr Value kUnits[kMaxBatch] = {};
  const bool relation = store_.is_relation(op.value());
  if (relation) homes = kUnits;
  const uint32_t first = store_.num_rows();
  store_.FindOrCreate(
      {op.value(), columns, homes, count, proofs_ != nullptr, out});
  const uint32_t end = store_.num_rows();
  if (proofs_ != nullptr) {
    for (uint32_t n = first; n < end; ++n) {
      proofs_->AddNode(op.value(), store_.args(n));
    }
  }
  version_ += end - first;
  if (relation) return 0;
  num_enodes_ += end - first;
  if (homes == nullptr) num_classes_ += end - first;
  if (!analyses_.empty()) {
    for (uint32_t n = first; n < end; ++n) MakeFacts(n);
  }
  return homes == nullptr ? 0 : end - first;
}

uint32_t EGraph::AddCanonical(uint32_t op, const Value* args, size_t arity,
                              uint64_t hash, size_t place, uint32_t home) {
  const uint32_t found = store_.Lookup(op, args, hash, &place);
  if (found != NodeStore::kNone) {
    // A proof wants the term that is there; otherwise the class is handier.
    return proofs_ == nullptr ? store_.class_of(found) : found;
  }
  const bool relation = store_.is_relation(op);
  if (relation) {
    home = unit().value();
  } else if (home != NodeStore::kNone) {
    home = store_.Find(home);
  }
  const uint32_t n = store_.Create(op, args, hash, place, home);
  ++version_;
  if (proofs_ != nullptr) proofs_->AddNode(op, {args, arity});
  if (relation) return unit().value();
  ++num_enodes_;
  if (home == NodeStore::kNone) ++num_classes_;
  if (!analyses_.empty()) MakeFacts(n);
  return home == NodeStore::kNone ? n : home;
}

std::optional<NodeId> EGraph::LookupNode(OpId op,
                                         std::span<const Value> args) const {
  if (op.value() >= store_.num_ops()) return std::nullopt;
  const Columns canonical = Canonical(op.value(), args);
  const uint32_t n = store_.Lookup(op.value(), canonical.data(),
                                   store_.Hash(op.value(), canonical.data()));
  if (n == NodeStore::kNone) return std::nullopt;
  return NodeId(n);
}

std::optional<ClassId> EGraph::Lookup(OpId op,
                                      std::span<const Value> args) const {
  const std::optional<NodeId> n = LookupNode(op, args);
  if (!n.has_value()) return std::nullopt;
  return class_of(*n);
}

bool EGraph::Union(ClassId a, ClassId b, ProofStep why) {
  uint32_t winner = store_.Find(a.value());
  uint32_t loser = store_.Find(b.value());
  if (winner == loser) return false;
  if (proofs_ != nullptr) proofs_->AddUnion(a.value(), b.value(), why);
  // By rank, which grows with each change of a node's class: these, and those
  // of a column that holds it, are at most log2(nodes). The older class is
  // likely to have more users.
  const uint32_t winner_rank = store_.rank(winner);
  const uint32_t loser_rank = store_.rank(loser);
  if (winner_rank == loser_rank) {
    if (winner > loser) std::swap(winner, loser);
    store_.IncrementRank(winner);
  } else if (winner_rank < loser_rank) {
    std::swap(winner, loser);
  }
  store_.set_class_of(loser, winner);
  pending_.push_back(loser);
  --num_classes_;
  ++version_;
  return true;
}

void EGraph::Retire(NodeId node) {
  const uint32_t n = node.value();
  if (!store_.live(n)) return;
  if (!language_.is_relation(op(node))) --num_enodes_;
  store_.Retire(n);
  ++version_;
}

void EGraph::SetError(Status error) {
  if (error_.ok()) error_ = std::move(error);
}

std::vector<NodeId> EGraph::Members(ClassId c) const {
  std::vector<NodeId> members;
  for (uint32_t n = Find(c).value(); n != NodeStore::kNone;
       n = store_.row(n).next) {
    if (store_.live(n)) members.push_back(NodeId(n));
  }
  return members;
}

std::vector<NodeId> EGraph::Users(ClassId c) const {
  std::vector<NodeId> users;
  for (uint32_t ref = store_.first_user(Find(c).value());
       ref != NodeStore::kNone; ref = store_.next_user(ref)) {
    const uint32_t n = store_.user_node(ref);
    if (store_.live(n)) users.push_back(NodeId(n));
  }
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

std::vector<NodeId> EGraph::NodesOf(OpId op) const {
  std::vector<NodeId> nodes;
  if (op.value() >= store_.num_ops()) return nodes;
  store_.ForEachStamped(op.value(), 0, NodeStore::kNone,
                        [&](uint32_t n) { nodes.push_back(NodeId(n)); });
  return nodes;
}

size_t EGraph::memory_bytes() const {
  size_t bytes = pool_->bytes() + language_.literals().memory_bytes();
  for (const auto& analysis : analyses_) bytes += analysis->memory_bytes();
  return bytes;
}

size_t EGraph::peak_memory_bytes() const {
  size_t bytes = pool_->peak() + language_.literals().memory_bytes();
  for (const auto& analysis : analyses_) bytes += analysis->memory_bytes();
  return bytes;
}

// --- Congruence and facts after unions.
//
// A class that lost a union gives its members and users to the one that won.
// The users name another class now: they are taken out of the table and put in
// again, where they may meet an equal node; then they die, and their classes
// are united in turn. All of it jumps about in memory, so that classes, and the
// users they have, are taken by the dozen and asked for ahead.

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
