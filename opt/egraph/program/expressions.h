// ExpressionBuilder: from S-expressions to sorted expressions.
//
// A unit is what shares local variables: a rule, a check, one top-level
// action. Within a unit sorts are inferred by unification alone: every
// primitive has operands of one sort (primitives.h), so no overload needs
// search. Use: Begin, then Build / Unify / Bind in any order, then Finish,
// which writes the sorts into the expressions, or undoes the unit where
// anything was found wrong.
//
// Work is linear in the size of the unit. Nothing recurses.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_EXPRESSIONS_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_EXPRESSIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encore/opt/egraph/program/ast.h"
#include "encore/opt/egraph/program/diagnostics.h"
#include "encore/opt/egraph/program/reader.h"
#include "encore/opt/egraph/program/scope.h"

namespace encore::opt::program {

// What every part of the checker works on. Nothing is owned.
struct CheckContext {
  Program* program;
  Scope* scope;
  Diagnostics* diagnostics;
  const std::vector<Sexpr>* nodes = nullptr;  // of the file being checked
  uint32_t file = 0;

  const Sexpr& node(uint32_t i) const { return (*nodes)[i]; }
  Position At(uint32_t i) const { return {file, node(i).offset}; }
  void Reject(uint32_t i, std::string_view message) {
    diagnostics->Reject(At(i), message);
  }
  void Unsupported(uint32_t i, std::string_view message) {
    diagnostics->Unsupported(At(i), message);
  }
  // The text of a symbol or string, or "" for another node.
  std::string_view Text(uint32_t i) const;
  // The elements of list `i`.
  std::vector<uint32_t> Elements(uint32_t i) const;
};

class ExpressionBuilder {
 public:
  explicit ExpressionBuilder(CheckContext* context) : context_(*context) {}

  // In a pattern an unknown name is a new variable; in an action it is an
  // error.
  enum class Mode { kPattern, kAction };

  void Begin();
  // The expression at node `i`. Where it is wrong, that is reported, the unit
  // is doomed, and what is returned only serves to go on.
  ExprId Build(uint32_t i, Mode mode);
  // Both are of one sort; else an error at node `i`.
  void Unify(ExprId a, ExprId b, uint32_t i);
  // A new variable named by symbol node `i`, of the sort of `value` (a let).
  // Returns its number.
  uint32_t Bind(uint32_t i, ExprId value);
  // A new unnamed variable, and one more mention of a variable.
  ExprId FreshVariable(uint32_t i);
  ExprId Mention(ExprId variable, uint32_t i);
  uint32_t num_variables() const {
    return static_cast<uint32_t>(variables_.size());
  }
  void Doom() { doomed_ = true; }

  // False where the unit is wrong; its expressions are then gone. On success
  // `variables` (may be null) gets the variables with their sorts.
  bool Finish(std::vector<Variable>* variables);

 private:
  struct Frame {
    uint32_t list;
    ExprId first;
    uint32_t num_arguments;
  };
  // A class of expressions and variables that have one sort.
  struct SortClass {
    uint32_t parent;
    SortId sort;  // kUnknownSort until known
  };
  static constexpr SortId kUnknownSort = UINT32_MAX;

  void Emit(ExprKind kind, uint32_t i, uint32_t sort_class, uint32_t index,
            uint64_t literal = 0);
  void EmitAtom(uint32_t i, Mode mode);
  void EmitSymbol(uint32_t i, Mode mode);
  void EmitCall(const Frame& frame);
  void EmitTableCall(const Frame& frame, TableId table);
  void EmitPrimitiveCall(const Frame& frame, Primitive primitive);
  void EmitPlaceholder(uint32_t i, ExprId first, uint32_t num_arguments);
  void UnknownFunction(const Frame& frame);
  void BadArgumentCount(const Frame& frame, uint32_t expected);

  bool CheckNewVariable(uint32_t i);
  uint32_t AddVariable(Symbol name, uint32_t sort_class);

  uint32_t NewSortClass(SortId sort);
  uint32_t Root(uint32_t sort_class);
  uint32_t SortClassOf(ExprId e) const { return sort_of_[e - start_]; }
  void UnifyClasses(uint32_t a, uint32_t b, uint32_t offset);
  bool FinishPrimitive(ExprId e);
  std::string SortName(SortId sort) const;

  CheckContext& context_;
  bool doomed_ = false;
  ExprId start_ = 0;
  std::vector<uint32_t> sort_of_;  // sort class by expression, from start_
  std::vector<SortClass> sort_classes_;
  std::vector<Variable> variables_;           // sort: sort class until Finish
  std::vector<uint32_t> variable_of_symbol_;  // number + 1, by symbol
  std::vector<Frame> frames_;
  std::vector<ExprId> arguments_;
};

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_EXPRESSIONS_H_
