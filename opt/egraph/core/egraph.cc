#include "encore/opt/egraph/core/egraph.h"

#include <algorithm>

#include "encore/ir/support/check.h"

namespace encore::egraph {

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

}  // namespace encore::egraph
