#include "encore/opt/egraph/core/proof_log.h"

#include <algorithm>
#include <utility>

#include "encore/ir/support/check.h"

namespace encore::egraph {
namespace {

// A reason below kFirstMatch is a kind; above, a position in the matches.
constexpr uint32_t kFirstMatch = 8;

uint32_t Pack(uint32_t reason, bool forward) { return reason << 1 | forward; }

}  // namespace

void ProofLog::AddNode(uint32_t op, std::span<const Value> args) {
  Args columns = {};
  if (op != kNone) {
    if (op >= arity_.size()) arity_.resize(op + 1);
    arity_[op] = args.size();
  }
  if (args.size() <= 2) {
    std::copy(args.begin(), args.end(), columns.columns);
  } else {
    columns.columns[0] = wide_args_.size();
    std::copy(args.begin(), args.end(), wide_args_.Extend(args.size()));
  }
  ops_.push_back(op == kNone ? kNoOp : op);
  args_.push_back(columns);
  parent_.push_back(kNone);
  reason_.push_back(0);
}

void ProofLog::AddUnion(uint32_t a, uint32_t b, const ProofStep& why) {
  uint32_t reason = static_cast<uint32_t>(why.kind);
  if (why.kind == ProofStep::Kind::kRule) {
    reason = kFirstMatch + matches_.size();
    const uint32_t rule = why.rule.value();
    if (rule >= num_slots_.size()) num_slots_.resize(rule + 1);
    num_slots_[rule] = why.slots.size();
    matches_.push_back(rule);
    std::copy(why.slots.begin(), why.slots.end(),
              matches_.Extend(why.slots.size()));
    ENCORE_CHECK(matches_.size() < 1u << 30) << "too many explained unions";
  }
  // Turn the path from one end to its root around, so that it becomes a root.
  const bool forward = parent_[b] != kNone;
  uint32_t node = forward ? a : b;
  uint32_t new_parent = forward ? b : a;
  uint32_t packed = Pack(reason, forward);
  while (node != kNone) {
    const uint32_t old_parent = std::exchange(parent_[node], new_parent);
    const uint32_t old_packed = std::exchange(reason_[node], packed);
    packed = old_packed ^ 1;
    new_parent = node;
    node = old_parent;
  }
}

ProofLog::Term ProofLog::term(uint32_t n) const {
  if (ops_[n] == kNoOp) return {kNone, {}};
  const size_t arity = arity_[ops_[n]];
  const Value* const columns = args_[n].columns;
  return {ops_[n],
          {arity <= 2 ? columns : wide_args_.data() + columns[0], arity}};
}

ProofLog::Edge ProofLog::edge(uint32_t n) const {
  const bool forward = reason_[n] & 1;
  const uint32_t reason = reason_[n] >> 1;
  if (reason < kFirstMatch) {
    return {static_cast<ProofStep::Kind>(reason), forward, RuleId(), {}};
  }
  const uint32_t at = reason - kFirstMatch;
  const uint32_t rule = matches_[at];
  return {ProofStep::Kind::kRule,
          forward,
          RuleId(rule),
          {matches_.data() + at + 1, num_slots_[rule]}};
}

}  // namespace encore::egraph
