#include "encore/opt/egraph/explain/lemmas.h"

#include <optional>
#include <tuple>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/opt/egraph/explain/proof_reader.h"

namespace encore::egraph {
namespace {

using Kind = ProofStep::Kind;
using Uses = std::vector<LemmaUse>;

// Proves edges of the proof forest, each once and after those that it needs.
class Prover {
 public:
  Prover(const EGraph& graph, const RuleBook& rules, const PremisesFn& premises,
         Lemmas* out)
      : language_(graph.language()),
        proofs_(*graph.proofs()),
        premises_(premises),
        out_(*out),
        reader_(graph, rules, &out->terms),
        edges_(proofs_.num_nodes()) {}

  TermStore::Id Term(uint32_t n) { return reader_.NodeTerm(n); }

  // Proves what a path needs.
  void Prepare(uint32_t x, uint32_t y) {
    for (const ProofReader::Edge& edge : reader_.Path(x, y)) Prove(edge.node);
  }

  // A path whose edges are proven.
  Uses Path(uint32_t x, uint32_t y) const {
    Uses uses;
    for (const ProofReader::Edge& edge : reader_.Path(x, y)) {
      const std::optional<Uses>& known = edges_[edge.node];
      ENCORE_CHECK(known.has_value());
      for (LemmaUse use : *known) {  // one at most
        use.reversed ^= edge.reversed;
        uses.push_back(use);
      }
    }
    return uses;
  }

  LemmaUse Add(Lemma lemma) {
    out_.lemmas.push_back(std::move(lemma));
    return {static_cast<uint32_t>(out_.lemmas.size() - 1)};
  }

  // That the term of a node is the one with these columns.
  template <typename Column>  // (column, id there) -> {term, uses}
  void AddCongruence(uint32_t n, Uses* chain, const Column& column) {
    Lemma lemma{.kind = Lemma::Kind::kCongruence, .from = Term(n)};
    TermStore::Term term = out_.terms.term(lemma.from);
    lemma.columns.resize(term.args.size());
    const ProofLog::Term node = proofs_.term(n);
    const OpInfo& op = language_.op(term.op);
    for (size_t k = 0; k < op.args.size(); ++k) {
      if (!language_.has_terms(op.args[k])) continue;
      const auto [becomes, uses] = column(k, node.args[k]);
      if (becomes == term.args[k]) continue;
      term.args[k] = becomes;
      lemma.columns[k] = uses;
    }
    lemma.to = out_.terms.Make(std::move(term));
    if (lemma.from != lemma.to) chain->push_back(Add(std::move(lemma)));
  }

 private:
  void Prove(uint32_t root) {
    std::vector<uint32_t> open = {root};
    while (!open.empty()) {
      const uint32_t n = open.back();
      if (edges_[n].has_value()) {
        open.pop_back();
        continue;
      }
      const size_t depth = open.size();
      for (const uint32_t needed : Needs(n)) {
        if (!edges_[needed].has_value()) open.push_back(needed);
      }
      if (open.size() > depth) continue;
      edges_[n] = Build(n);
      open.pop_back();
    }
  }

  // The edges that an edge needs.
  std::vector<uint32_t> Needs(uint32_t n) const {
    std::vector<uint32_t> needs;
    const uint32_t p = proofs_.parent(n);
    switch (proofs_.edge(n).kind) {
      case Kind::kCongruence:
        for (const size_t k : ClassColumns(n)) {
          AppendPath(proofs_.term(n).args[k], proofs_.term(p).args[k], &needs);
        }
        break;
      case Kind::kRule: {
        const auto [a, b] = reader_.UnionSlots(n);
        AppendReach(n, a, n, &needs);
        AppendReach(n, b, p, &needs);
        for (const auto& [x, y] : PremisesOf(n)) {
          AppendPath(x.value(), y.value(), &needs);
        }
        break;
      }
      case Kind::kGiven:
      case Kind::kAnalysis:
        break;
    }
    return needs;
  }

  void AppendPath(uint32_t x, uint32_t y, std::vector<uint32_t>* needs) const {
    for (const ProofReader::Edge& edge : reader_.Path(x, y)) {
      needs->push_back(edge.node);
    }
  }

  // As deep as the rule.
  void AppendReach(uint32_t n, Slot slot, uint32_t x,
                   std::vector<uint32_t>* needs) const {
    const ProofReader::Maker maker = reader_.MakerOf(n, slot);
    AppendPath(x, maker.node, needs);
    if (maker.args == nullptr) return;
    for (const size_t k : ClassColumns(maker.node)) {
      AppendReach(n, (*maker.args)[k], proofs_.term(maker.node).args[k], needs);
    }
  }

  std::vector<size_t> ClassColumns(uint32_t n) const {
    std::vector<size_t> columns;
    const OpInfo& op = language_.op(OpId(proofs_.term(n).op));
    for (size_t k = 0; k < op.args.size(); ++k) {
      if (language_.has_terms(op.args[k])) columns.push_back(k);
    }
    return columns;
  }

  std::vector<std::pair<ClassId, ClassId>> PremisesOf(uint32_t n) const {
    if (!premises_) return {};
    const uint32_t p = proofs_.parent(n);
    const bool forward = proofs_.edge(n).forward;
    return premises_(ClassId(forward ? n : p), ClassId(forward ? p : n));
  }

  // One use, or none where both terms are one.
  Uses Build(uint32_t n) {
    const uint32_t p = proofs_.parent(n);
    Uses chain;
    switch (proofs_.edge(n).kind) {
      case Kind::kCongruence:
        AddCongruence(n, &chain, [&](size_t k, uint32_t x) {
          const uint32_t y = proofs_.term(p).args[k];
          return std::pair(Term(y), Path(x, y));
        });
        return chain;
      case Kind::kRule: {
        const auto [a, b] = reader_.UnionSlots(n);
        chain = Reach(n, a, n);
        AppendStep(n, reader_.Instance(n, a), reader_.Instance(n, b), &chain);
        Uses back = Reach(n, b, p);
        for (size_t i = back.size(); i-- > 0;) {
          back[i].reversed ^= true;
          chain.push_back(back[i]);
        }
        break;
      }
      case Kind::kGiven:
      case Kind::kAnalysis:
        AppendStep(n, Term(n), Term(p), &chain);
    }
    if (chain.size() < 2) return chain;
    return {Add({.kind = Lemma::Kind::kChain,
                 .from = Term(n),
                 .to = Term(p),
                 .columns = {std::move(chain)}})};
  }

  // From the term of x to the instance of a slot. As deep as the rule.
  Uses Reach(uint32_t n, Slot slot, uint32_t x) {
    const ProofReader::Maker maker = reader_.MakerOf(n, slot);
    Uses chain = Path(x, maker.node);
    if (maker.args == nullptr) return chain;
    AddCongruence(maker.node, &chain, [&](size_t k, uint32_t argument) {
      const Slot of = (*maker.args)[k];
      return std::pair(reader_.Instance(n, of), Reach(n, of, argument));
    });
    return chain;
  }

  void AppendStep(uint32_t n, TermStore::Id from, TermStore::Id to,
                  Uses* chain) {
    if (from == to) return;
    const ProofLog::Edge edge = proofs_.edge(n);
    if (!edge.forward) std::swap(from, to);
    Lemma lemma{.kind = Lemma::Kind::kStep, .from = from, .to = to};
    lemma.step = {edge.kind, edge.rule, true, from, to, reader_.LiteralsOf(n)};
    if (edge.kind == Kind::kRule) {
      lemma.match.assign(edge.slots.begin(), edge.slots.end());
      std::tie(lemma.left, lemma.right) = reader_.UnionSlots(n);
      if (!edge.forward) std::swap(lemma.left, lemma.right);
      for (const auto& [x, y] : PremisesOf(n)) {
        lemma.premises.push_back(
            {Term(x.value()), Term(y.value()), Path(x.value(), y.value())});
      }
    }
    LemmaUse use = Add(std::move(lemma));
    use.reversed = !edge.forward;
    chain->push_back(use);
  }

  const Language& language_;
  const ProofLog& proofs_;
  const PremisesFn& premises_;
  Lemmas& out_;
  ProofReader reader_;
  std::vector<std::optional<Uses>> edges_;  // by node, to its parent
};

// The chosen nodes that the roots need, each after those of its arguments.
StatusOr<std::vector<NodeId>> Order(
    const EGraph& graph, std::span<const ClassId> roots,
    const std::function<NodeId(ClassId)>& choice) {
  enum class State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(graph.node_limit(), State::kNew);
  std::vector<NodeId> order;
  std::vector<ClassId> stack;
  for (const ClassId root : roots) {
    stack.push_back(graph.Find(root));
    while (!stack.empty()) {
      const ClassId c = stack.back();
      State& state = states[c.value()];
      const NodeId node = choice(c);
      if (state != State::kNew) {
        stack.pop_back();
        if (state == State::kOpen) order.push_back(node);
        state = State::kDone;
        continue;
      }
      ENCORE_CHECK(node.valid());
      state = State::kOpen;
      const OpInfo& op = graph.language().op(graph.op(node));
      for (size_t k = op.args.size(); k-- > 0;) {
        if (!graph.language().has_terms(op.args[k])) continue;
        const ClassId argument = graph.Find(ClassId(graph.args(node)[k]));
        if (states[argument.value()] == State::kDone) continue;
        if (states[argument.value()] == State::kOpen) {
          return InvalidArgumentError("a choice that needs itself");
        }
        stack.push_back(argument);
      }
    }
  }
  return order;
}

}  // namespace

StatusOr<Lemmas> ExplainChoice(const EGraph& graph, const RuleBook& rules,
                               std::span<const ClassId> roots,
                               const std::function<NodeId(ClassId)>& choice,
                               const PremisesFn& premises) {
  if (graph.proofs() == nullptr) {
    return FailedPreconditionError("the graph keeps no explanations");
  }
  ENCORE_ASSIGN_OR_RETURN(const std::vector<NodeId> order,
                          Order(graph, roots, choice));
  Lemmas out;
  Prover prover(graph, rules, premises, &out);
  // By class: from its chosen node's own term to that of the choice.
  std::vector<std::optional<LemmaChain>> chosen(graph.node_limit());
  const auto reach = [&](uint32_t id) {
    const ClassId c = graph.Find(ClassId(id));
    const LemmaChain& rest = *chosen[c.value()];
    prover.Prepare(id, choice(c).value());
    LemmaChain chain{prover.Term(id), rest.to,
                     prover.Path(id, choice(c).value())};
    chain.uses.insert(chain.uses.end(), rest.uses.begin(), rest.uses.end());
    return chain;
  };
  for (const NodeId node : order) {
    const TermStore::Id own = prover.Term(node.value());
    LemmaChain chain{own, own, {}};
    prover.AddCongruence(node.value(), &chain.uses, [&](size_t, uint32_t id) {
      LemmaChain column = reach(id);
      return std::pair(column.to, std::move(column.uses));
    });
    if (!chain.uses.empty()) chain.to = out.lemmas.back().to;
    chosen[graph.class_of(node).value()] = std::move(chain);
  }
  for (const ClassId root : roots) out.goals.push_back(reach(root.value()));
  return out;
}

}  // namespace encore::egraph
