#include "encore/opt/egraph/explain/explain.h"

#include <algorithm>
#include <optional>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::egraph {
namespace {

constexpr uint32_t kNone = 0xFFFFFFFFu;
constexpr size_t kTermsPerStep = 16;
using Kind = ProofStep::Kind;

// Terms of original nodes.
class NodeTerms {
 public:
  NodeTerms(const EGraph& graph, TermStore* terms)
      : language_(graph.language()),
        proofs_(*graph.proofs()),
        terms_(*terms),
        known_(proofs_.num_nodes(), kNone) {}

  // Children first.
  TermStore::Id Of(uint32_t root) {
    std::vector<uint32_t> open = {root};
    while (!open.empty()) {
      const uint32_t n = open.back();
      if (known_[n] != kNone) {
        open.pop_back();
        continue;
      }
      const ProofLog::Term node = proofs_.term(n);
      ENCORE_CHECK(node.op != ProofLog::kNone) << "a class without a term";
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

 private:
  const Language& language_;
  const ProofLog& proofs_;
  TermStore& terms_;
  std::vector<TermStore::Id> known_;
};

// Writes the chain by a stack of tasks. A task turns the subterm in a hole of a
// context into another; reversed, it does so backwards.
class Explainer {
 public:
  Explainer(const EGraph& graph, const RuleBook& rules, size_t max_steps,
            Explanation* out)
      : language_(graph.language()),
        proofs_(*graph.proofs()),
        rules_(rules),
        max_steps_(max_steps),
        out_(*out),
        node_terms_(graph, &out->terms) {}

  Status Run(uint32_t a, uint32_t b) {
    out_.start = NodeTerm(a);
    out_.end = NodeTerm(b);
    tasks_.push_back({.type = Type::kPath, .x = a, .y = b});
    while (!tasks_.empty()) {
      if (out_.steps.size() > max_steps_ ||
          out_.terms.size() > max_steps_ * kTermsPerStep) {
        return ResourceExhaustedError(StrCat("the explanation has more than ",
                                             max_steps_,
                                             " steps, or too many terms"));
      }
      const Task task = tasks_.back();
      tasks_.pop_back();
      Expand(task);
    }
    return OkStatus();
  }

 private:
  enum class Type {
    kPath,   // node x's term to node y's
    kEdge,   // node x's term to that of its parent
    kReach,  // node x's term to the instance of slot y in the match of edge
    kEmit    // term x to term y by the rule of edge
  };
  struct Task {
    Type type;
    bool reversed = false;
    uint32_t x = 0;
    uint32_t y = 0;
    uint32_t edge = 0;  // the node whose edge it is
    uint32_t context = kNone;
  };
  // A term with a hole, in another context.
  struct Context {
    uint32_t parent;
    size_t hole;
    TermStore::Term term;
  };

  void Expand(const Task& task) {
    std::vector<Task> parts;
    switch (task.type) {
      case Type::kPath:
        ExpandPath(task, &parts);
        break;
      case Type::kEdge:
        ExpandEdge(task, &parts);
        break;
      case Type::kReach:
        ExpandReach(task, &parts);
        break;
      case Type::kEmit:
        Emit(task);
        return;
    }
    // Parts are in order from the task's beginning; the stack wants the last
    // one first, and a reversed task begins at its end.
    if (!task.reversed) std::reverse(parts.begin(), parts.end());
    for (Task& part : parts) {
      part.reversed ^= task.reversed;
      tasks_.push_back(part);
    }
  }

  void ExpandPath(const Task& task, std::vector<Task>* parts) {
    if (task.x == task.y) return;
    std::vector<uint32_t> up_x = PathToRoot(task.x);
    std::vector<uint32_t> up_y = PathToRoot(task.y);
    ENCORE_CHECK_EQ(up_x.back(), up_y.back());
    while (!up_x.empty() && !up_y.empty() && up_x.back() == up_y.back()) {
      up_x.pop_back();
      up_y.pop_back();
    }
    for (const uint32_t n : up_x) {
      parts->push_back({.type = Type::kEdge, .x = n, .context = task.context});
    }
    for (size_t i = up_y.size(); i-- > 0;) {
      parts->push_back({.type = Type::kEdge,
                        .reversed = true,
                        .x = up_y[i],
                        .context = task.context});
    }
  }
  std::vector<uint32_t> PathToRoot(uint32_t n) const {
    std::vector<uint32_t> path;
    for (; n != ProofLog::kNone; n = proofs_.parent(n)) path.push_back(n);
    return path;
  }

  void ExpandEdge(const Task& task, std::vector<Task>* parts) {
    const uint32_t n = task.x;
    const uint32_t p = proofs_.parent(n);
    const ProofLog::Edge edge = proofs_.edge(n);
    Task base{.type = Type::kEmit,
              .reversed = false,
              .edge = n,
              .context = task.context};
    if (edge.kind == Kind::kCongruence) {
      Columns(task.context, n, parts, [&](size_t k, Task* part) {
        part->type = Type::kPath;
        part->y = proofs_.term(p).args[k];
        return NodeTerm(part->y);
      });
      return;
    }
    if (edge.kind != Kind::kRule) {
      base.x = NodeTerm(n);
      base.y = NodeTerm(p);
      parts->push_back(base);
      return;
    }
    const auto [from, to] = UnionSlots(edge, n, p);
    Task reach{.type = Type::kReach, .edge = n, .context = task.context};
    reach.x = n;
    reach.y = from.value();
    parts->push_back(reach);
    base.x = Instance(edge, from);
    base.y = Instance(edge, to);
    parts->push_back(base);
    reach.x = p;
    reach.y = to.value();
    reach.reversed = true;
    parts->push_back(reach);
  }

  // The slots of the union action that made the edge, that of n first.
  std::pair<Slot, Slot> UnionSlots(const ProofLog::Edge& edge, uint32_t n,
                                   uint32_t p) const {
    for (const Action& action : rules_.rule(edge.rule).actions) {
      if (action.kind != Action::Kind::kUnion) continue;
      const Slot a = action.args[edge.forward ? 0 : 1];
      const Slot b = action.args[edge.forward ? 1 : 0];
      if (edge.slots[a.value()] == n && edge.slots[b.value()] == p) {
        return {a, b};
      }
    }
    ENCORE_CHECK(false) << "a union that its rule does not make";
    return {};
  }

  // What makes a slot: the atom or the insertion whose result it is.
  struct Maker {
    OpId op;
    const std::vector<Slot>* args = nullptr;  // null: a variable
    uint32_t node = 0;
  };
  Maker MakerOf(const ProofLog::Edge& edge, Slot slot) const {
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

  void ExpandReach(const Task& task, std::vector<Task>* parts) {
    const ProofLog::Edge edge = proofs_.edge(task.edge);
    const Maker maker = MakerOf(edge, Slot(task.y));
    parts->push_back({.type = Type::kPath,
                      .x = task.x,
                      .y = maker.node,
                      .context = task.context});
    if (maker.args == nullptr) return;
    Columns(task.context, maker.node, parts, [&](size_t k, Task* part) {
      part->type = Type::kReach;
      part->y = (*maker.args)[k].value();
      part->edge = task.edge;
      return Instance(edge, (*maker.args)[k]);
    });
  }

  // A part for each class column of node n's term, in which `fill` says what it
  // becomes; columns before it have become so already.
  template <typename Fill>
  void Columns(uint32_t context, uint32_t n, std::vector<Task>* parts,
               const Fill& fill) {
    TermStore::Term term = out_.terms.term(NodeTerm(n));
    const ProofLog::Term node = proofs_.term(n);
    const OpInfo& op = language_.op(term.op);
    for (size_t k = 0; k < op.args.size(); ++k) {
      if (!language_.has_terms(op.args[k])) continue;
      Task part{.type = Type::kPath, .x = node.args[k]};
      part.context = contexts_.size();
      const TermStore::Id becomes = fill(k, &part);
      if (becomes == term.args[k] && part.x == part.y &&
          part.type == Type::kPath) {
        continue;
      }
      contexts_.push_back({context, k, term});
      parts->push_back(part);
      term.args[k] = becomes;
    }
  }

  TermStore::Id NodeTerm(uint32_t n) { return node_terms_.Of(n); }

  // The term that a slot of a match stands for. As deep as the rule.
  TermStore::Id Instance(const ProofLog::Edge& edge, Slot slot) {
    const SortId sort = rules_.rule(edge.rule).slots[slot.value()].sort;
    if (!language_.has_terms(sort)) return edge.slots[slot.value()];
    const Maker maker = MakerOf(edge, slot);
    if (maker.args == nullptr) return NodeTerm(maker.node);
    TermStore::Term term{maker.op, {}};
    for (const Slot arg : *maker.args) {
      term.args.push_back(Instance(edge, arg));
    }
    return out_.terms.Make(std::move(term));
  }

  void Emit(const Task& task) {
    const ProofLog::Edge edge = proofs_.edge(task.edge);
    TermStore::Id from = task.reversed ? task.y : task.x;
    TermStore::Id to = task.reversed ? task.x : task.y;
    if (from == to) return;
    for (uint32_t c = task.context; c != kNone; c = contexts_[c].parent) {
      TermStore::Term term = contexts_[c].term;
      term.args[contexts_[c].hole] = from;
      from = out_.terms.Make(term);
      term.args[contexts_[c].hole] = to;
      to = out_.terms.Make(std::move(term));
    }
    out_.steps.push_back({edge.kind, edge.rule, edge.forward != task.reversed,
                          from, to, LiteralsOf(edge)});
  }

  // Those of the match behind an edge, where its rule tests or computes some.
  std::vector<Value> LiteralsOf(const ProofLog::Edge& edge) const {
    if (edge.kind != Kind::kRule) return {};
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

  const Language& language_;
  const ProofLog& proofs_;
  const RuleBook& rules_;
  const size_t max_steps_;
  Explanation& out_;
  NodeTerms node_terms_;
  std::vector<Context> contexts_;
  std::vector<Task> tasks_;
};

}  // namespace

TermStore::Id TermStore::Make(Term term) {
  const auto [it, inserted] = ids_.try_emplace(term, terms_.size());
  if (inserted) terms_.push_back(std::move(term));
  return it->second;
}

StatusOr<Explanation> Explain(const EGraph& graph, const RuleBook& rules,
                              ClassId a, ClassId b, size_t max_steps) {
  if (graph.proofs() == nullptr) {
    return FailedPreconditionError("the graph keeps no explanations");
  }
  if (!graph.Same(a, b)) return NotFoundError("the terms are not equal");
  Explanation explanation;
  ENCORE_RETURN_IF_ERROR(Explainer(graph, rules, max_steps, &explanation)
                             .Run(a.value(), b.value()));
  return explanation;
}

std::vector<TermStore::Id> AddedTerms(const EGraph& graph,
                                      std::span<const ClassId> ids,
                                      TermStore* terms) {
  NodeTerms node_terms(graph, terms);
  std::vector<TermStore::Id> out;
  out.reserve(ids.size());
  for (const ClassId id : ids) out.push_back(node_terms.Of(id.value()));
  return out;
}

StatusOr<std::string> TermText(const Language& language, const TermStore& terms,
                               TermStore::Id root, size_t max_bytes,
                               const TermNameFn& name) {
  std::string text;
  struct Open {
    TermStore::Id term;
    size_t next_arg;
  };
  std::vector<Open> stack;
  const auto open = [&](TermStore::Id id) {
    if (name) {
      if (const auto short_name = name(terms.term(id))) {
        text += *short_name;
        return;
      }
    }
    StrAppend(&text, "(", language.op(terms.term(id).op).name);
    stack.push_back({id, 0});
  };
  open(root);
  while (!stack.empty()) {
    if (text.size() > max_bytes) {
      return ResourceExhaustedError(
          StrCat("the text is longer than ", max_bytes, " bytes"));
    }
    Open& top = stack.back();
    const TermStore::Term& term = terms.term(top.term);
    if (top.next_arg == term.args.size()) {
      text += ")";
      stack.pop_back();
      continue;
    }
    const SortId sort = language.op(term.op).args[top.next_arg];
    const uint32_t arg = term.args[top.next_arg++];
    text += " ";
    if (language.has_terms(sort)) {
      open(arg);
    } else {
      text += sort == kUnitSort ? "()" : language.literals().ToText(arg);
    }
  }
  return text;
}

StatusOr<std::string> Explanation::Text(const EGraph& graph,
                                        const RuleBook& rules, size_t max_bytes,
                                        const TermNameFn& name) const {
  const auto append = [&](TermStore::Id term, std::string* text) -> Status {
    if (text->size() >= max_bytes) {
      return ResourceExhaustedError("the explanation's text is too long");
    }
    ENCORE_ASSIGN_OR_RETURN(const std::string piece,
                            TermText(graph.language(), terms, term,
                                     max_bytes - text->size(), name));
    *text += piece;
    return OkStatus();
  };
  std::string text;
  ENCORE_RETURN_IF_ERROR(append(start, &text));
  text += "\n";
  for (const ExplainStep& step : steps) {
    ENCORE_RETURN_IF_ERROR(append(step.to, &text));
    const std::string why = step.kind == Kind::kRule
                                ? rules.rule(step.rule).name
                            : step.kind == Kind::kGiven ? "(union)"
                                                        : "(analysis)";
    StrAppend(&text, "   ", why, step.forward ? " ->" : " <-", "\n");
  }
  return text;
}

}  // namespace encore::egraph
