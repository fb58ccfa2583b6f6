// EGraph: hash-consed nodes in classes of equal terms, with congruence.
//
// A node is an operator and its columns (classes and literals); it lies in one
// class. Add finds or creates a node, Union makes two classes one, and Rebuild
// restores what follows: columns name canonical classes, no two live nodes are
// equal, equal nodes lie in one class, facts of analyses are joins over their
// classes. Unions are recorded at once (Find sees them) and cost nothing more
// until Rebuild, whose cost follows the nodes and users of the smaller classes
// that were merged, not what exists. Matching requires a rebuilt graph.
//
// Layout (36 bytes per binary node, index lists included): a row of 24 bytes
// has operator, stamp, columns, the next member of its class and the links that
// thread it into the user lists of its children. Class c has the number of the
// node it is created with; 8 bytes hold the class of node c, which is at once
// the union-find link of class c, exact after Rebuild so that reading never
// searches, and the first user of class c; 4 bytes hold the operators in class
// c and its rank. NodeTable takes 4 bytes per slot, and one log per operator
// lists its nodes in the order in which they last changed. What inserting and
// merging read at random (classes, slots) lies apart from what is appended.
//
// Stamps: a node is stamped when it is created and when Rebuild changes its
// class or a column; matching uses them to look only at what is new.
//
// Ids and orders depend only on the calls made. Copyable by Clone. Not
// thread-safe, const access apart. At most 2^30 nodes.
#ifndef ENCORE_OPT_EGRAPH_CORE_EGRAPH_H_
#define ENCORE_OPT_EGRAPH_CORE_EGRAPH_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/analysis.h"
#include "encore/opt/egraph/core/flat_array.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/egraph/core/language.h"
#include "encore/opt/egraph/core/node_store.h"
#include "encore/opt/egraph/core/proof_log.h"

namespace encore::egraph {

class EGraph {
 public:
  struct Options {
    // Keep what ExplainEqual needs (explain.h); memory about doubles.
    bool explanations = false;
  };

  EGraph() : EGraph(Language()) {}
  explicit EGraph(Language language) : EGraph(std::move(language), Options()) {}
  EGraph(Language language, Options options);
  EGraph(EGraph&&) = default;
  EGraph& operator=(EGraph&& other) noexcept;
  EGraph(const EGraph&) = delete;
  EGraph& operator=(const EGraph&) = delete;

  // A copy with analyses cloned; costs the size of the columns.
  EGraph Clone() const;

  // Sorts, operators and literals may be added at any time.
  Language& language() { return language_; }
  const Language& language() const { return language_; }

  // Takes part from the next node on. REQUIRES: no node has been added. Returns
  // its index. `analysis<T>(i)` is the analysis, in copies its clone.
  size_t AddAnalysis(std::unique_ptr<Analysis> analysis);
  bool has_analyses() const { return !analyses_.empty(); }
  template <typename T>
  const T& analysis(size_t index) const {
    return static_cast<const T&>(*analyses_[index]);
  }

  // The class of the node, created in a class of its own where it does not
  // exist (relations: in the unit class). REQUIRES: as many `args` as the
  // operator has columns, of the columns' sorts; class columns need not be
  // canonical.
  ClassId Add(OpId op, std::span<const Value> args);
  ClassId Add(OpId op, std::initializer_list<Value> args) {
    return Add(op, std::span<const Value>(args.begin(), args.size()));
  }
  // Add for a term that explanations are to show as it is written: where the
  // graph keeps proofs, the class has an id of its own if the node was created
  // with other, equal classes as columns.
  ClassId AddWritten(OpId op, std::span<const Value> args);
  // Add for `count` <= kMaxBatch nodes, given by column, in passes, so that
  // what one pass asks memory for has come when the next one reads it. `out`
  // gets their classes. A node that does not exist is created in the class
  // homes[i], where `homes` is not null, as if its class had been united with
  // it at once; returns how many were. Where there are proofs, `out` gets the
  // nodes, and the caller logs those unions. REQUIRES: SyncOps.
  static constexpr size_t kMaxBatch = NodeStore::kMaxBatch;
  size_t AddBatch(OpId op, std::span<const Value* const> columns,
                  const Value* homes, size_t count, Value* out);
  // About so many nodes are going to be added: room is made once.
  void Expect(size_t nodes) { store_.Expect(nodes); }
  // Operators declared since nodes were last added become known to store().
  void SyncOps() { store_.AddOps(language_); }
  // The class of the node where it exists; exact on a rebuilt graph.
  std::optional<ClassId> Lookup(OpId op, std::span<const Value> args) const;
  std::optional<NodeId> LookupNode(OpId op, std::span<const Value> args) const;

  // Makes the classes equal; whether they were not. `why` explains it.
  bool Union(ClassId a, ClassId b, ProofStep why = ProofStep::Given());
  ClassId Find(ClassId c) const;
  bool Same(ClassId a, ClassId b) const { return Find(a) == Find(b); }
  ClassId unit() const { return ClassId(0); }

  // Restores congruence and facts.
  void Rebuild();
  bool rebuilt() const { return pending_.empty() && fact_work_.empty(); }

  // Takes a node out of matching, extraction and counts. It stays hash-consed:
  // adding it again gives its class, and congruence holds for it.
  void Retire(NodeId node);

  // The first contradiction that an analysis reported; OK otherwise.
  const Status& error() const { return error_; }
  void SetError(Status error);

  // Reading nodes. Members and users are the live ones; retired nodes have
  // columns and a class too.
  bool live(NodeId n) const { return store_.live(n.value()); }
  OpId op(NodeId n) const { return OpId(store_.op(n.value())); }
  std::span<const Value> args(NodeId n) const { return store_.args(n.value()); }
  ClassId class_of(NodeId n) const {
    return Find(ClassId(store_.class_of(n.value())));
  }
  std::vector<NodeId> Members(ClassId c) const;
  std::vector<NodeId> Users(ClassId c) const;
  // Live nodes of an operator, in the order in which they last changed.
  std::vector<NodeId> NodesOf(OpId op) const;
  // All ids ever given are below; live(id) says which are nodes now.
  uint32_t node_limit() const { return store_.num_rows(); }

  // Counts, exact on a rebuilt graph. Relations' rows are no e-nodes.
  size_t num_enodes() const { return num_enodes_; }
  size_t num_classes() const { return num_classes_; }
  size_t num_rows(OpId op) const { return store_.num_live(op.value()); }
  // Grows whenever a node is created or two classes become one.
  uint64_t version() const { return version_; }

  // Bytes of columns, tables, lists and facts, and of pages that are kept for
  // more of them; the peak includes what matching and rules needed for a while.
  size_t memory_bytes() const;
  size_t peak_memory_bytes() const;

  // For the parts of the engine.
  const NodeStore& store() const { return store_; }
  PagePool* pool() const { return pool_.get(); }
  ProofLog* proofs() { return proofs_.get(); }
  const ProofLog* proofs() const { return proofs_.get(); }
  // Starts a new stamp; what changes from now on is newer than what is.
  void NextStamp() { store_.NextStamp(); }

 private:
  struct CloneTag {};
  EGraph(const EGraph& other, CloneTag);

  void EnsureOp(OpId op) {
    if (op.value() >= store_.num_ops()) store_.AddOps(language_);
  }
  // A node's columns: few, or as many as a tensor operator has operands.
  using Columns = absl::InlinedVector<Value, 8>;
  Columns Canonical(uint32_t op, std::span<const Value> args) const;
  uint32_t AddCanonical(uint32_t op, const Value* args, size_t arity,
                        uint64_t hash, size_t place, uint32_t home);
  void MergeClasses(std::span<const uint32_t> losers);
  void MergeFacts(uint32_t winner, uint32_t loser);
  void RepairUsers(std::span<const uint32_t> nodes);
  void RepairWide(uint32_t node);
  void Reinsert(uint32_t node, uint64_t hash);
  void MakeFacts(uint32_t node);
  void RemakeFacts(uint32_t node);
  void JoinFacts(uint32_t node, uint32_t cls);
  void PropagateFacts();
  void FactChanged(uint32_t cls);

  Language language_;
  std::unique_ptr<PagePool> pool_;
  NodeStore store_;
  FlatArray<uint32_t> pending_;  // classes that lost a union, in order
  // Twice a class whose analyses must look at it, plus 1 where its fact
  // changed.
  FlatArray<uint32_t> fact_work_;
  std::vector<std::unique_ptr<Analysis>> analyses_;
  std::unique_ptr<ProofLog> proofs_;
  Status error_;
  size_t num_enodes_ = 0;
  size_t num_classes_ = 0;
  uint64_t version_ = 0;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_CORE_EGRAPH_H_
