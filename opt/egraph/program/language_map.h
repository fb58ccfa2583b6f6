// LanguageMap: a program's sorts, tables, globals and primitives in the
// engine's language, and its literals as the engine's values.
//
// What is declared follows the run: after a (pop) the engine's language is an
// older one, and what is declared next takes the ids of what was dropped.
// A global of a declared sort is a row, in the global's class, of an operator
// of that sort that takes the global's number. So a pattern that names it sees
// unions of that class like any other.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_LANGUAGE_MAP_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_LANGUAGE_MAP_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/egraph/core/language.h"
#include "encore/opt/egraph/core/literals.h"
#include "encore/opt/egraph/program/ast.h"
#include "encore/opt/egraph/program/primitives.h"

namespace encore::opt::program {

class LanguageMap {
 public:
  // Declares the primitives on built-in sorts. `program` must outlive this and
  // every copy of `language`.
  LanguageMap(const Program& program, egraph::Language* language);
  LanguageMap(const LanguageMap&) = delete;
  LanguageMap& operator=(const LanguageMap&) = delete;

  // Declares the sorts and tables below the given ids that are not declared.
  Status DeclareUpTo(SortId sorts, TableId tables, egraph::Language* language);

  egraph::SortId sort(SortId sort) const { return sorts_[sort]; }
  // The inverse, of the engine's built-in sorts.
  SortId BuiltinSort(egraph::SortId sort) const;
  egraph::OpId table(TableId table) const { return tables_[table]; }
  // The operator of globals of a declared sort, and its argument.
  egraph::OpId global(SortId sort) const { return globals_[sort]; }
  static egraph::Value GlobalNumber(GlobalId global,
                                    egraph::LiteralPool* pool) {
    return pool->I64(global);
  }
  // No symbol of a program has a space in it.
  static bool IsGlobal(const egraph::OpInfo& op) {
    return op.name.starts_with(kGlobalPrefix);
  }
  egraph::PrimitiveId primitive(Primitive primitive, SortId operands) const {
    return primitives_[operands][static_cast<size_t>(primitive)];
  }

  egraph::Value Literal(SortId sort, uint64_t bits,
                        egraph::LiteralPool* pool) const;
  // REQUIRES a built-in sort.
  uint64_t Bits(SortId sort, egraph::Value value,
                const egraph::LiteralPool& pool) const;

 private:
  static constexpr std::string_view kGlobalPrefix = "global ";
  static constexpr size_t kNumPrimitives =
      static_cast<size_t>(Primitive::kGuard) + 1;

  void DeclarePrimitives(SortId operands, egraph::Language* language);

  const Program& program_;
  std::vector<egraph::SortId> sorts_;  // by sort
  std::vector<egraph::OpId> tables_;   // by table
  std::vector<egraph::OpId> globals_;  // by sort; built-in ones have none
  std::vector<std::array<egraph::PrimitiveId, kNumPrimitives>>
      primitives_;  // by sort of the operands
};

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_LANGUAGE_MAP_H_
