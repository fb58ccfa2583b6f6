// Lemmas: why chosen terms equal those that were added, with everything that is
// used twice proven once. Where explain.h writes one chain between two terms,
// each use of a shared subterm by itself, this is linear in what is there.
//
// explain_check.h re-checks lemmas without any of the engine.
#ifndef ENCORE_OPT_EGRAPH_EXPLAIN_LEMMAS_H_
#define ENCORE_OPT_EGRAPH_EXPLAIN_LEMMAS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/explain/explain.h"
#include "encore/opt/egraph/match/rule.h"

namespace encore::egraph {

// An earlier lemma, read from its `from` to its `to` or the other way.
struct LemmaUse {
  uint32_t lemma;
  bool reversed = false;
};

// An earlier chain of lemmas from one term to another.
struct LemmaChain {
  TermStore::Id from, to;
  std::vector<LemmaUse> uses;  // none where from is to
};

// The terms `from` and `to` are equal.
struct Lemma {
  enum class Kind : uint8_t {
    kStep,        // by `step`, at their roots
    kCongruence,  // one operator, whose columns are equal by `columns`
    kChain        // by columns[0], one use after the other
  };
  Kind kind = Kind::kStep;
  TermStore::Id from = 0, to = 0;
  // Of kStep: as in explain.h, from left to right.
  ExplainStep step{};
  // Of a kStep by a rule: the match, its slots and the node of each atom.
  std::vector<Value> match{};
  Slot left{}, right{};  // of the match: what the two sides are
  // Of a kStep by a rule: what the step takes as equal beside that.
  std::vector<LemmaChain> premises{};
  // Of kCongruence by column, empty where both sides have the same.
  std::vector<std::vector<LemmaUse>> columns{};
};

struct Lemmas {
  TermStore terms;
  std::vector<Lemma> lemmas;      // each after those that it uses
  std::vector<LemmaChain> goals;  // by root
};

// What an application of a rule, which united the classes that were added as
// `left` and `right`, took as equal though the match does not say so: pairs of
// ids of one class each that were equal then.
using PremisesFn = std::function<std::vector<std::pair<ClassId, ClassId>>(
    ClassId left, ClassId right)>;

// For each root a goal that leads from the term that it was added as to the
// term of the choice: of a class its chosen node, whose arguments are chosen
// likewise. `premises` may be empty.
//
// FailedPrecondition where the graph keeps no proofs, InvalidArgument where the
// choice needs itself. REQUIRES: graph.rebuilt(), `rules` as they were run.
// No recursion.
StatusOr<Lemmas> ExplainChoice(const EGraph& graph, const RuleBook& rules,
                               std::span<const ClassId> roots,
                               const std::function<NodeId(ClassId)>& choice,
                               const PremisesFn& premises = nullptr);

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_EXPLAIN_LEMMAS_H_
