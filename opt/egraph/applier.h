// Applier: the actions of one rule, run for its matches.
#ifndef ENCORE_OPT_EGRAPH_APPLIER_H_
#define ENCORE_OPT_EGRAPH_APPLIER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/egraph.h"
#include "encore/opt/egraph/rule.h"

namespace encore::egraph {

class Applier {
 public:
  // `rule` must outlive the applier and keep its id in proofs.
  Applier(const EGraph& graph, const Rule* rule, RuleId id);

  // The slots whose values a match gives, and whether it also gives the node of
  // each atom (Trie::Add).
  std::span<const Slot> wanted() const { return wanted_; }
  bool with_nodes() const { return with_nodes_; }

  struct Outcome {
    Status status;        // of a panic or an undefined primitive
    uint32_t unions = 0;  // of different classes
  };
  // `match`: as wanted. `current`: its classes are canonical or have lost a
  // union since the last Rebuild, otherwise they are looked up.
  Outcome Apply(EGraph* graph, std::span<const Value> match, bool current);
  // Bring near what Apply will read for the match: what is in the table's
  // slots, then what they name.
  void PrefetchSlots(const EGraph& graph, const Value* match) const;
  void PrefetchRows(const EGraph& graph, const Value* match) const;

 private:
  // An insertion whose columns a match gives.
  struct Direct {
    uint32_t op;
    uint32_t first;  // in direct_args_
  };
  struct Instruction {
    Action::Kind kind;
    uint32_t op;
    uint32_t out;
    uint32_t first_arg;  // in args_
    uint32_t num_args;
  };
  void PlanPrefetches();
  uint64_t DirectHash(const EGraph& graph, const Direct& direct,
                      const Value* match) const;
  Status RunPrimitive(EGraph* graph, const Instruction& instruction);
  bool Union(EGraph* graph, Value a, Value b);

  const Rule* rule_;
  RuleId id_;
  bool with_nodes_;
  std::vector<Slot> wanted_;
  std::vector<Instruction> code_;
  std::vector<uint32_t> args_;  // slots
  std::vector<Direct> direct_;
  std::vector<uint32_t> direct_args_;  // positions in a match
  std::vector<uint32_t> unioned_;      // positions in a match
  std::vector<Value> registers_;       // by slot, then the nodes of atoms
  std::vector<Value> scratch_;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_APPLIER_H_
