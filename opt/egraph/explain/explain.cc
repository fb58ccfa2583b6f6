#include "encore/opt/egraph/explain/explain.h"

#include <algorithm>
#include <optional>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/explain/proof_reader.h"

namespace encore::egraph {
namespace {

constexpr uint32_t kNone = ProofLog::kNone;
constexpr size_t kTermsPerStep = 16;
using Kind = ProofStep::Kind;

// Writes the chain by a stack of tasks. A task turns the subterm in a hole of a
// context into another; reversed, it does so backwards.
class Explainer {
 public:
  Explainer(const EGraph& graph, const RuleBook& rules, size_t max_steps,
            Explanation* out)
      : language_(graph.language()),
        proofs_(*graph.proofs()),
        max_steps_(max_steps),
        out_(*out),
        reader_(graph, rules, &out->terms) {}

  Status Run(uint32_t a, uint32_t b) {
    out_.start = reader_.NodeTerm(a);
    out_.end = reader_.NodeTerm(b);
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
    for (const ProofReader::Edge& edge : reader_.Path(task.x, task.y)) {
      parts->push_back({.type = Type::kEdge,
                        .reversed = edge.reversed,
                        .x = edge.node,
                        .context = task.context});
    }
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
        return reader_.NodeTerm(part->y);
      });
      return;
    }
    if (edge.kind != Kind::kRule) {
      base.x = reader_.NodeTerm(n);
      base.y = reader_.NodeTerm(p);
      parts->push_back(base);
      return;
    }
    const auto [from, to] = reader_.UnionSlots(n);
    Task reach{.type = Type::kReach, .edge = n, .context = task.context};
    reach.x = n;
    reach.y = from.value();
    parts->push_back(reach);
    base.x = reader_.Instance(n, from);
    base.y = reader_.Instance(n, to);
    parts->push_back(base);
    reach.x = p;
    reach.y = to.value();
    reach.reversed = true;
    parts->push_back(reach);
  }

  void ExpandReach(const Task& task, std::vector<Task>* parts) {
    const ProofReader::Maker maker = reader_.MakerOf(task.edge, Slot(task.y));
    parts->push_back({.type = Type::kPath,
                      .x = task.x,
                      .y = maker.node,
                      .context = task.context});
    if (maker.args == nullptr) return;
    Columns(task.context, maker.node, parts, [&](size_t k, Task* part) {
      part->type = Type::kReach;
      part->y = (*maker.args)[k].value();
      part->edge = task.edge;
      return reader_.Instance(task.edge, (*maker.args)[k]);
    });
  }

  // A part for each class column of node n's term, in which `fill` says what it
  // becomes; columns before it have become so already.
  template <typename Fill>
  void Columns(uint32_t context, uint32_t n, std::vector<Task>* parts,
               const Fill& fill) {
    TermStore::Term term = out_.terms.term(reader_.NodeTerm(n));
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
                          from, to, reader_.LiteralsOf(task.edge)});
  }

  const Language& language_;
  const ProofLog& proofs_;
  const size_t max_steps_;
  Explanation& out_;
  ProofReader reader_;
  std::vector<Context> contexts_;
  std::vector<Task> tasks_;
};

}  // namespace

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
  const RuleBook none;
  ProofReader reader(graph, none, terms);
  std::vector<TermStore::Id> out;
  out.reserve(ids.size());
  for (const ClassId id : ids) out.push_back(reader.NodeTerm(id.value()));
  return out;
}

StatusOr<std::string> TermText(const Language& language, const TermStore& terms,
                               TermStore::Id root, size_t max_bytes,
                               const StoredTermNameFn& name) {
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
                                        const StoredTermNameFn& name) const {
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
