// ProofStep and ProofLog: why two classes became equal, kept only when the
// graph was made with Options::explanations. explain.h turns the log into
// chains of rule applications.
#ifndef ENCORE_OPT_EGRAPH_CORE_PROOF_LOG_H_
#define ENCORE_OPT_EGRAPH_CORE_PROOF_LOG_H_

#include <cstdint>
#include <span>
#include <vector>

#include "encore/opt/egraph/core/flat_array.h"
#include "encore/opt/egraph/core/ids.h"

namespace encore::egraph {

// The reason for one union. A rule's reason also names the match: the values of
// its slots, held by the caller for the time of the call.
struct ProofStep {
  enum class Kind : uint8_t { kGiven, kCongruence, kRule, kAnalysis };
  Kind kind = Kind::kGiven;
  RuleId rule;
  std::span<const Value> slots;

  static ProofStep Given() { return {}; }
  static ProofStep Congruence() { return {Kind::kCongruence, RuleId(), {}}; }
  // Made equal by an analysis' Modify; reported as a step without a rule.
  static ProofStep Analysis() { return {Kind::kAnalysis, RuleId(), {}}; }
};

// The proof forest over nodes (each node stands for the term it was created as)
// and the matches behind its edges. Of each tree of equal terms exactly one
// path joins two of them, made of unions that were there when the younger
// became equal, so explanations are finite.
class ProofLog {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFFu;

  explicit ProofLog(PagePool* pool)
      : ops_(pool),
        args_(pool),
        wide_args_(pool),
        parent_(pool),
        reason_(pool),
        matches_(pool) {}
  ProofLog(const ProofLog& other, PagePool* pool)
      : ops_(other.ops_, pool),
        args_(other.args_, pool),
        wide_args_(other.wide_args_, pool),
        arity_(other.arity_),
        parent_(other.parent_, pool),
        reason_(other.reason_, pool),
        matches_(other.matches_, pool),
        num_slots_(other.num_slots_) {}

  // Node n = num_nodes() was created with these columns; none for a class
  // without a node.
  void AddNode(uint32_t op, std::span<const Value> args);
  // The terms a and b, not connected yet, are equal.
  void AddUnion(uint32_t a, uint32_t b, const ProofStep& why);

  struct Term {
    uint32_t op;  // kNone for a class without a node
    std::span<const Value> args;
  };
  Term term(uint32_t n) const;
  uint32_t num_nodes() const { return parent_.size(); }
  // The edge towards the root of the tree: kNone at the root.
  uint32_t parent(uint32_t n) const { return parent_[n]; }
  struct Edge {
    ProofStep::Kind kind;
    bool forward;  // the step led from n to its parent
    RuleId rule;
    std::span<const Value> slots;
  };
  Edge edge(uint32_t n) const;

 private:
  struct Args {
    Value columns[2];  // the first has the place in wide_args_ of more
  };
  static constexpr uint16_t kNoOp = 0xFFFF;

  // The terms, by node.
  FlatArray<uint16_t> ops_;
  FlatArray<Args> args_;
  FlatArray<Value> wide_args_;
  std::vector<uint32_t> arity_;      // by operator
  FlatArray<uint32_t> parent_;       // by node
  FlatArray<uint32_t> reason_;       // by node: kind and direction, or a match
  FlatArray<uint32_t> matches_;      // rule, slots
  std::vector<uint32_t> num_slots_;  // by rule
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_CORE_PROOF_LOG_H_
