// ProofReader: what a proof log says of a graph's unions, as terms.
//
// A node n of the log stands for the term that it was created as; its edge
// leads to its parent in the proof forest. Terms are made in the store that the
// reader was given. Nothing recurses on terms.
#ifndef ENCORE_OPT_EGRAPH_EXPLAIN_PROOF_READER_H_
#define ENCORE_OPT_EGRAPH_EXPLAIN_PROOF_READER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/core/proof_log.h"
#include "encore/opt/egraph/explain/term_store.h"
#include "encore/opt/egraph/match/rule.h"

namespace encore::egraph {

class ProofReader {
 public:
  // All outlive the reader. REQUIRES: graph.proofs() != nullptr, and `rules` as
  // they were run; for the terms of nodes alone they may be any.
  ProofReader(const EGraph& graph, const RuleBook& rules, TermStore* terms)
      : language_(graph.language()),
        proofs_(*graph.proofs()),
        rules_(rules),
        terms_(*terms),
        known_(proofs_.num_nodes(), ProofLog::kNone) {}

  TermStore::Id NodeTerm(uint32_t n);

  // The edge of `node`, from it to its parent; reversed the other way.
  struct Edge {
    uint32_t node;
    bool reversed;
  };
  // From x to y. REQUIRES that they are in one class.
  std::vector<Edge> Path(uint32_t x, uint32_t y) const;

  // Of an edge of kind kRule, named by its node n.

  // The slots of the union action that made it, that of n first.
  std::pair<Slot, Slot> UnionSlots(uint32_t n) const;
  // What makes a slot: the atom or the insertion whose result it is.
  struct Maker {
    OpId op;
    const std::vector<Slot>* args = nullptr;  // null: a variable
    uint32_t node = 0;
  };
  Maker MakerOf(uint32_t n, Slot slot) const;
  // The term that a slot of the match stands for. As deep as the rule.
  TermStore::Id Instance(uint32_t n, Slot slot);
  // Those of the match, where its rule tests or computes some (ExplainStep).
  std::vector<Value> LiteralsOf(uint32_t n) const;

 private:
  std::vector<uint32_t> PathToRoot(uint32_t n) const;

  const Language& language_;
  const ProofLog& proofs_;
  const RuleBook& rules_;
  TermStore& terms_;
  std::vector<TermStore::Id> known_;  // by node
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_EXPLAIN_PROOF_READER_H_
