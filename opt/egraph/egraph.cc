#include "encore/opt/egraph/egraph.h"

#include <algorithm>

#include "encore/ir/support/check.h"

namespace encore::egraph {

EGraph::EGraph(Language language, Options options)
    : language_(std::move(language)),
      meter_(std::make_unique<MemoryMeter>()),
      store_(meter_.get()),
      pending_(meter_.get()),
      fact_work_(meter_.get()) {
  if (options.explanations) {
    proofs_ = std::make_unique<ProofLog>(meter_.get());
    proofs_->AddNode(ProofLog::kNone, {});
  }
  store_.CreateClass();  // the unit
}

EGraph::EGraph(const EGraph& other, CloneTag)
    : language_(other.language_),
      meter_(std::make_unique<MemoryMeter>()),
      store_(other.store_, meter_.get()),
      pending_(other.pending_, meter_.get()),
      fact_work_(other.fact_work_, meter_.get()),
      error_(other.error_),
      num_enodes_(other.num_enodes_),
      num_classes_(other.num_classes_),
      version_(other.version_) {
  for (const auto& analysis : other.analyses_) {
    analyses_.push_back(analysis->Clone());
  }
  if (other.proofs_ != nullptr) {
    proofs_ = std::make_unique<ProofLog>(*other.proofs_, meter_.get());
  }
}

// By exchange, so that each array stays with the meter that counts it.
EGraph& EGraph::operator=(EGraph&& other) noexcept {
  std::swap(language_, other.language_);
  std::swap(meter_, other.meter_);
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

ClassId EGraph::Add(OpId op, std::span<const Value> args) {
  EnsureOp(op);
  ENCORE_DCHECK_EQ(args.size(), store_.arity(op.value()));
  Value canonical[Language::kMaxArity];
  for (size_t i = 0; i < args.size(); ++i) {
    canonical[i] =
        store_.is_class_column(op.value(), i) ? store_.Find(args[i]) : args[i];
  }
  const uint64_t hash = store_.Hash(op.value(), canonical);
  return ClassId(AddCanonical(op.value(), canonical, args.size(), hash,
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
  const size_t arity = columns.size();
  const size_t nodes_before = num_enodes_;
  batch_.resize(arity * kMaxBatch);
  Value* const batch = batch_.data();
  for (size_t k = 0; k < arity; ++k) {
    const Value* const column = columns[k];
    const bool is_class = store_.is_class_column(op.value(), k);
    for (size_t i = 0; i < count; ++i) {
      batch[i * arity + k] = is_class ? store_.Find(column[i]) : column[i];
    }
  }
  uint64_t hashes[kMaxBatch];
  size_t places[kMaxBatch];
  for (size_t i = 0; i < count; ++i) {
    hashes[i] = NodeStore::Hash(op.value(), batch + i * arity, arity);
    store_.PrefetchSlot(hashes[i]);
  }
  for (size_t i = 0; i < count; ++i) places[i] = store_.StartLookup(hashes[i]);
  const uint32_t version = store_.table_version();
  for (size_t i = 0; i < count; ++i) {
    const size_t place = store_.table_version() == version
                             ? places[i]
                             : store_.FirstPlace(hashes[i]);
    out[i] = AddCanonical(op.value(), batch + i * arity, arity, hashes[i],
                          place, homes ? homes[i] : NodeStore::kNone);
  }
  return homes == nullptr ? 0 : num_enodes_ - nodes_before;
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
  if (home != NodeStore::kNone) {
    if (!analyses_.empty()) {
      JoinFacts(n, home);
      fact_work_.push_back(2 * home);
    }
    return home;
  }
  ++num_classes_;
  for (const auto& analysis : analyses_) {
    analysis->Make(*this, NodeId(n), ClassId(n), true);
  }
  for (const auto& analysis : analyses_) {
    analysis->Modify(this, Find(ClassId(n)));
  }
  return n;
}

std::optional<NodeId> EGraph::LookupNode(OpId op,
                                         std::span<const Value> args) const {
  if (op.value() >= store_.num_ops()) return std::nullopt;
  Value canonical[Language::kMaxArity];
  for (size_t i = 0; i < args.size(); ++i) {
    canonical[i] =
        store_.is_class_column(op.value(), i) ? store_.Find(args[i]) : args[i];
  }
  const uint32_t n =
      store_.Lookup(op.value(), canonical, store_.Hash(op.value(), canonical));
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

void EGraph::Rebuild() {
  size_t merged = 0;
  while (merged < pending_.size() || !fact_work_.empty()) {
    while (merged < pending_.size()) {
      PrefetchMerges(merged);
      MergeClass(pending_[merged++]);
      // What congruence appends takes the room of what is done.
      if (merged % kDoneChunk == 0 && merged * 2 >= pending_.size()) {
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

// The merges ahead: first the class, then its first user, then what the user
// becomes.
void EGraph::PrefetchMerges(size_t next) const {
  const auto first_user = [&](size_t i) {
    const uint32_t ref =
        i < pending_.size() ? store_.first_user(pending_[i]) : NodeStore::kNone;
    return ref == NodeStore::kNone ? ref : store_.user_node(ref);
  };
  if (next + 12 < pending_.size()) {
    store_.PrefetchClass(pending_[next + 12]);
    store_.PrefetchRow(pending_[next + 12]);
  }
  if (const uint32_t n = first_user(next + 8); n != NodeStore::kNone) {
    store_.PrefetchRow(n);
  }
  const uint32_t n = first_user(next + 4);
  if (n == NodeStore::kNone || !store_.is_node(n)) return;
  store_.PrefetchSlot(store_.Hash(store_.op(n), store_.args(n).data()));
}

void EGraph::MergeClass(uint32_t loser) {
  const uint32_t winner = store_.Find(loser);
  store_.MergeClassOps(winner, loser);
  store_.set_class_of(loser, winner);  // it may be no node
  store_.SpliceMembers(winner, loser, [&](uint32_t n) {
    store_.set_class_of(n, winner);
    store_.Restamp(n);
  });
  store_.SpliceUsers(winner, loser, [&](uint32_t n) { RepairUser(n); });
  bool changed = false;
  for (const auto& analysis : analyses_) {
    const Analysis::Merged merged =
        analysis->Merge(this, ClassId(winner), ClassId(loser));
    changed |= merged.into_changed || merged.from_changed;
  }
  if (!analyses_.empty()) {
    if (changed) {
      FactChanged(winner);
    } else {
      fact_work_.push_back(2 * winner);
    }
  }
}

void EGraph::RepairUser(uint32_t node) {
  const uint32_t op = store_.op(node);
  const std::span<Value> args = store_.args(node);
  bool changed = false;
  for (size_t i = 0; i < args.size() && !changed; ++i) {
    changed = store_.is_class_column(op, i) && store_.Find(args[i]) != args[i];
  }
  if (!changed) return;  // another column's class brought it here before
  store_.EraseFromTable(node);
  for (size_t i = 0; i < args.size(); ++i) {
    if (store_.is_class_column(op, i)) args[i] = store_.Find(args[i]);
  }
  const uint64_t hash = store_.Hash(op, args.data());
  size_t place = store_.FirstPlace(hash);
  const uint32_t other = store_.Lookup(op, args.data(), hash, &place);
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
  FlatArray<uint32_t> work(meter_.get());
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

size_t EGraph::memory_bytes() const {
  size_t bytes = meter_->bytes + language_.literals().memory_bytes();
  for (const auto& analysis : analyses_) bytes += analysis->memory_bytes();
  return bytes;
}

size_t EGraph::peak_memory_bytes() const {
  size_t bytes = meter_->peak + language_.literals().memory_bytes();
  for (const auto& analysis : analyses_) bytes += analysis->memory_bytes();
  return bytes;
}

}  // namespace encore::egraph
