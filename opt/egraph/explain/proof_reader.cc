#include "encore/opt/egraph/explain/proof_reader.h"

#include <algorithm>

#include "encore/ir/support/check.h"

namespace encore::egraph {
namespace {

constexpr uint32_t kNone = ProofLog::kNone;

}  // namespace

// Children first.
TermStore::Id ProofReader::NodeTerm(uint32_t root) {
  std::vector<uint32_t> open = {root};
  while (!open.empty()) {
    const uint32_t n = open.back();
    if (known_[n] != kNone) {
      open.pop_back();
      continue;
    }
    const ProofLog::Term node = proofs_.term(n);
    ENCORE_CHECK(node.op != kNone) << "a class without a term";
    const OpInfo& op = language_.op(OpId(node.op));
    TermStore::Term term{OpId(node.op), {}};
    const size_t depth = open.size();
    for (size_t k = 0; k < op.args.size(); ++k) {
      const bool is_class = language_.has_terms(op.args[k]);
      if (is_class && known_[node.args[k]] == kNone) {
        open.push_back(node.args[k]);
      }
      term.args.push_back(is_class ? known_[node.args[k]] : node.args[k]);
    }
    if (open.size() > depth) continue;
    known_[n] = terms_.Make(std::move(term));
    open.pop_back();
  }
  return known_[root];
}

std::vector<ProofReader::Edge> ProofReader::Path(uint32_t x, uint32_t y) const {
  std::vector<Edge> path;
  if (x == y) return path;
  std::vector<uint32_t> up_x = PathToRoot(x);
  std::vector<uint32_t> up_y = PathToRoot(y);
  ENCORE_CHECK_EQ(up_x.back(), up_y.back());
  while (!up_x.empty() && !up_y.empty() && up_x.back() == up_y.back()) {
    up_x.pop_back();
    up_y.pop_back();
  }
  for (const uint32_t n : up_x) path.push_back({n, false});
  for (size_t i = up_y.size(); i-- > 0;) path.push_back({up_y[i], true});
  return path;
}

std::vector<uint32_t> ProofReader::PathToRoot(uint32_t n) const {
  std::vector<uint32_t> path;
  for (; n != kNone; n = proofs_.parent(n)) path.push_back(n);
  return path;
}

std::pair<Slot, Slot> ProofReader::UnionSlots(uint32_t n) const {
  const ProofLog::Edge edge = proofs_.edge(n);
  for (const Action& action : rules_.rule(edge.rule).actions) {
    if (action.kind != Action::Kind::kUnion) continue;
    const Slot a = action.args[edge.forward ? 0 : 1];
    const Slot b = action.args[edge.forward ? 1 : 0];
    if (edge.slots[a.value()] == n &&
        edge.slots[b.value()] == proofs_.parent(n)) {
      return {a, b};
    }
  }
  ENCORE_CHECK(false) << "a union that its rule does not make";
  return {};
}

ProofReader::Maker ProofReader::MakerOf(uint32_t n, Slot slot) const {
  const ProofLog::Edge edge = proofs_.edge(n);
  const Rule& rule = rules_.rule(edge.rule);
  for (size_t i = 0; i < rule.atoms.size(); ++i) {
    if (rule.atoms[i].out != slot) continue;
    return {rule.atoms[i].op, &rule.atoms[i].args,
            edge.slots[rule.slots.size() + i]};
  }
  for (const Action& action : rule.actions) {
    if (action.kind == Action::Kind::kInsert && action.out == slot) {
      return {action.op, &action.args, edge.slots[slot.value()]};
    }
  }
  return {OpId(), nullptr, edge.slots[slot.value()]};
}

TermStore::Id ProofReader::Instance(uint32_t n, Slot slot) {
  const ProofLog::Edge edge = proofs_.edge(n);
  const SortId sort = rules_.rule(edge.rule).slots[slot.value()].sort;
  if (!language_.has_terms(sort)) return edge.slots[slot.value()];
  const Maker maker = MakerOf(n, slot);
  if (maker.args == nullptr) return NodeTerm(maker.node);
  TermStore::Term term{maker.op, {}};
  for (const Slot arg : *maker.args) term.args.push_back(Instance(n, arg));
  return terms_.Make(std::move(term));
}

std::vector<Value> ProofReader::LiteralsOf(uint32_t n) const {
  const ProofLog::Edge edge = proofs_.edge(n);
  if (edge.kind != ProofStep::Kind::kRule) return {};
  const Rule& rule = rules_.rule(edge.rule);
  const bool computes = std::any_of(
      rule.actions.begin(), rule.actions.end(), [](const Action& action) {
        return action.kind == Action::Kind::kPrimitive;
      });
  if (rule.guards.empty() && !computes) return {};
  std::vector<Value> literals(edge.slots.begin(),
                              edge.slots.begin() + rule.slots.size());
  for (size_t s = 0; s < literals.size(); ++s) {
    if (language_.has_terms(rule.slots[s].sort)) literals[s] = kNoValue;
  }
  return literals;
}

}  // namespace encore::egraph
