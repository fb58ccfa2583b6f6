// Scope: what the names of a program mean at one point of it.
//
// Sorts, tables, globals and rulesets share one space of names. Push saves the
// scope, Pop restores it. Declaring, finding, pushing and popping cost O(1),
// amortized.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_SCOPE_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_SCOPE_H_

#include <cstdint>
#include <vector>

#include "encore/opt/egraph/program/ast.h"

namespace encore::opt::program {

enum class NameKind : uint8_t { kNone, kSort, kTable, kGlobal, kRuleset };

struct NameMeaning {
  NameKind kind = NameKind::kNone;
  uint32_t id = 0;
};

class Scope {
 public:
  // `names` must outlive the scope.
  explicit Scope(Interner* names) : names_(names) {}

  NameMeaning Find(Symbol name) const {
    return name < meanings_.size() ? meanings_[name] : NameMeaning{};
  }
  // REQUIRES that `name` has no meaning yet.
  void Declare(Symbol name, NameMeaning meaning);

  // Whether `name` is the rest of a global's name after "$": a local variable
  // must not be called so.
  bool IsGlobalWithoutPrefix(Symbol name) const {
    return name < without_prefix_.size() && without_prefix_[name];
  }

  // The declared tables, in the order of declaration.
  const std::vector<TableId>& tables() const { return tables_; }

  void Push(uint64_t count);
  // False, and nothing changes, where fewer than `count` pushes are open.
  bool Pop(uint64_t count);

 private:
  // `count` pushes with nothing declared between them.
  struct Mark {
    size_t declared;
    uint64_t count;
  };

  Interner* names_;
  std::vector<NameMeaning> meanings_;  // by symbol
  std::vector<bool> without_prefix_;   // by symbol
  std::vector<Symbol> declared_;
  std::vector<TableId> tables_;
  std::vector<Mark> marks_;
};

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_SCOPE_H_
