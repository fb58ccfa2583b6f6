#include "encore/opt/egraph/proof_log.h"

#include <utility>

#include "encore/ir/support/check.h"

namespace encore::egraph {
namespace {

// A reason below kFirstMatch is a kind; above, a position in the matches.
constexpr uint32_t kFirstMatch = 8;

uint32_t Pack(uint32_t reason, bool forward) { return reason << 1 | forward; }

}  // namespace

void ProofLog::AddNode(uint32_t op, std::span<const Value> args) {
  first_.push_back(terms_.size());
  terms_.push_back(op);
  for (const Value value : args) terms_.push_back(value);
  parent_.push_back(kNone);
  reason_.push_back(0);
}

void ProofLog::AddUnion(uint32_t a, uint32_t b, const ProofStep& why) {
  uint32_t reason = static_cast<uint32_t>(why.kind);
  if (why.kind == ProofStep::Kind::kRule) {
    reason = kFirstMatch + matches_.size();
    matches_.push_back(why.rule.value());
    matches_.push_back(why.slots.size());
    for (const Value value : why.slots) matches_.push_back(value);
    ENCORE_CHECK(matches_.size() < 1u << 30) << "too many explained unions";
  }
  // Turn the path from a to its root around, so that a becomes a root.
  uint32_t node = a;
  uint32_t new_parent = b;
  uint32_t packed = Pack(reason, true);
  while (node != kNone) {
    const uint32_t old_parent = std::exchange(parent_[node], new_parent);
    const uint32_t old_packed = std::exchange(reason_[node], packed);
    packed = old_packed ^ 1;
    new_parent = node;
    node = old_parent;
  }
}

ProofLog::Term ProofLog::term(uint32_t n) const {
  const uint32_t at = first_[n];
  const uint32_t end = n + 1 < first_.size() ? first_[n + 1] : terms_.size();
  return {terms_[at], {terms_.data() + at + 1, end - at - 1}};
}

ProofLog::Edge ProofLog::edge(uint32_t n) const {
  const bool forward = reason_[n] & 1;
  const uint32_t reason = reason_[n] >> 1;
  if (reason < kFirstMatch) {
    return {static_cast<ProofStep::Kind>(reason), forward, RuleId(), {}};
  }
  const uint32_t at = reason - kFirstMatch;
  return {ProofStep::Kind::kRule,
          forward,
          RuleId(matches_[at]),
          {matches_.data() + at + 2, matches_[at + 1]}};
}

}  // namespace encore::egraph
