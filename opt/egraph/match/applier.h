// Applier: the actions of one rule, run for its matches.
#ifndef ENCORE_OPT_EGRAPH_MATCH_APPLIER_H_
#define ENCORE_OPT_EGRAPH_MATCH_APPLIER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/match/match_buffer.h"
#include "encore/opt/egraph/match/rule.h"

namespace encore::egraph {

// Not copyable: it holds pointers to its own lanes.
class Applier {
 public:
  // `rule` must keep its id in proofs.
  Applier(const EGraph& graph, std::shared_ptr<const Rule> rule, RuleId id);
  Applier(const Applier&) = delete;
  Applier& operator=(const Applier&) = delete;

  // Before the rule is applied again, whether to this graph or to another one
  // of the same language: classes that it names may have other ids now.
  void ReadConstants(const EGraph& graph);
  const std::shared_ptr<const Rule>& rule() const { return rule_; }

  // The slots whose values a match gives, and whether it also gives the node of
  // each atom (Trie::Add).
  std::span<const Slot> wanted() const { return wanted_; }
  bool with_nodes() const { return with_nodes_; }

  struct Outcome {
    Status status;        // of a panic or an undefined primitive
    uint32_t unions = 0;  // of different classes
  };
  // For one of the matches, whose columns are as wanted; any ids of classes.
  Outcome Apply(EGraph* graph, const MatchBuffer& matches, size_t match);
  // Whether actions are only insertions and unions, so that ApplyBatch may run
  // each of them for many matches at a time.
  bool batchable() const { return batchable_; }
  size_t num_insertions() const { return num_insertions_; }
  // Apply for `count` matches of one block from `first` on; the unions of
  // different classes. REQUIRES: batchable(), and all operators are in the
  // graph's store (EGraph::SyncOps).
  static constexpr size_t kBatch = MatchBuffer::kBlock;
  static_assert(kBatch <= EGraph::kMaxBatch);
  uint32_t ApplyBatch(EGraph* graph, const MatchBuffer& matches, size_t first,
                      size_t count);

 private:
  struct Instruction {
    Action::Kind kind;
    uint32_t op;
    uint32_t out;
    uint32_t first_arg;  // in args_
    uint32_t num_args;
    // kInsert: a slot bound before it with which what it gives is united
    // later; or kNoSlot.
    uint32_t home = kNoSlot;
    uint32_t own_lane = 0;  // kInsert: of what it gives, in own_lanes_
    // kUnion: the insertion that makes it by its home; or kNoSlot.
    uint32_t homing = kNoSlot;
    uint64_t created = 0;  // kInsert, with proofs: lanes whose node is new
  };
  static constexpr uint32_t kNoSlot = 0xFFFFFFFFu;
  void FindHomes(std::vector<bool> bound);
  void PlaceLanes();
  size_t InsertBatch(EGraph* graph, size_t count, Instruction* insert);
  uint32_t UniteBatch(EGraph* graph, size_t count, const Instruction& unite);
  uint32_t UniteWithProofs(EGraph* graph, size_t count,
                           const Instruction& unite);
  ProofStep StepOf(size_t lane);
  Status RunPrimitive(EGraph* graph, const Instruction& instruction);
  bool Union(EGraph* graph, Value a, Value b);

  std::shared_ptr<const Rule> rule_;
  RuleId id_;
  bool with_nodes_;
  std::vector<Slot> wanted_;
  std::vector<Instruction> code_;
  std::vector<uint32_t> args_;    // slots
  std::vector<Value> registers_;  // by slot, then the nodes of atoms
  std::vector<Value> scratch_;
  bool batchable_ = true;
  size_t num_insertions_ = 0;
  std::vector<bool> wanted_class_;  // by position in a match
  // ApplyBatch: kBatch values for each register, here or in the matches.
  std::vector<const Value*> lanes_;
  std::vector<Value> own_lanes_;
  std::vector<const Value*> columns_;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_MATCH_APPLIER_H_
