#include "encore/opt/egraph/program/grounding.h"

#include <vector>

namespace encore::opt::program {
namespace {

// Propagates "bound" from variables to the primitive trees that wait for them
// and from computable chain members to the variables of the chain.
class Grounding {
 public:
  Grounding(const Program& program, const Query& query)
      : program_(program),
        bound_(query.variables.size(), false),
        watchers_(query.variables.size()) {}

  void AddFact(const Fact& fact) {
    const auto chain = static_cast<uint32_t>(chains_.size());
    chains_.emplace_back();
    for (const ExprId member : fact.chain) AddMember(member, chain);
  }

  void Propagate() {
    while (!work_.empty()) {
      const uint32_t variable = work_.back();
      work_.pop_back();
      for (const uint32_t tree : watchers_[variable]) {
        if (--trees_[tree].waiting == 0) Ground(trees_[tree].chain);
      }
    }
  }

  bool bound(uint32_t variable) const { return bound_[variable]; }

 private:
  // A chain member that waits for `waiting` occurrences of variables.
  struct Tree {
    uint32_t waiting;
    uint32_t chain;
  };
  struct Chain {
    bool grounded = false;
    std::vector<uint32_t> variables;
  };
  enum class Under : uint8_t { kChain, kTable, kPrimitive };

  void AddMember(ExprId member, uint32_t chain) {
    const auto tree = static_cast<uint32_t>(trees_.size());
    trees_.push_back({1, chain});  // 1: until all its variables are counted
    // Pre-order from the right: a node's parent is seen before it. Below a
    // table, nothing counts towards the member any more.
    std::vector<Frame> stack = {{member, Under::kChain, true}};
    while (!stack.empty()) {
      const Frame frame = stack.back();
      stack.pop_back();
      const Expr& expr = program_.exprs[frame.expr];
      if (expr.kind == ExprKind::kVariable) {
        Occurrence(expr.index, frame, tree);
        continue;
      }
      const bool table = expr.kind == ExprKind::kTable;
      Arguments(program_, frame.expr, &arguments_);
      for (const ExprId argument : arguments_) {
        stack.push_back({argument, table ? Under::kTable : Under::kPrimitive,
                         frame.counts && !table});
      }
    }
    if (--trees_[tree].waiting == 0) Ground(chain);
  }

  struct Frame {
    ExprId expr;
    Under under;
    bool counts;
  };

  void Occurrence(uint32_t variable, const Frame& frame, uint32_t tree) {
    switch (frame.under) {
      case Under::kTable:
        return Bind(variable);
      case Under::kChain:
        chains_[trees_[tree].chain].variables.push_back(variable);
        if (chains_[trees_[tree].chain].grounded) Bind(variable);
        break;
      case Under::kPrimitive:
        break;
    }
    if (!frame.counts || bound_[variable]) return;
    ++trees_[tree].waiting;
    watchers_[variable].push_back(tree);
  }

  void Ground(uint32_t chain) {
    if (chains_[chain].grounded) return;
    chains_[chain].grounded = true;
    for (const uint32_t variable : chains_[chain].variables) Bind(variable);
  }

  void Bind(uint32_t variable) {
    if (bound_[variable]) return;
    bound_[variable] = true;
    work_.push_back(variable);
  }

  const Program& program_;
  std::vector<bool> bound_;
  std::vector<std::vector<uint32_t>> watchers_;  // trees, by variable
  std::vector<Tree> trees_;
  std::vector<Chain> chains_;
  std::vector<uint32_t> work_;
  std::vector<ExprId> arguments_;
};

}  // namespace

std::optional<uint32_t> FindUnboundVariable(const Program& program,
                                            const Query& query,
                                            uint32_t num_variables) {
  Grounding grounding(program, query);
  for (const Fact& fact : query.facts) grounding.AddFact(fact);
  grounding.Propagate();
  for (uint32_t v = 0; v < num_variables; ++v) {
    if (!grounding.bound(v)) return v;
  }
  return std::nullopt;
}

}  // namespace encore::opt::program
