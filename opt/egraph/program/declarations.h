// DeclarationChecker: sorts, constructors, relations and rulesets.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_DECLARATIONS_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_DECLARATIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "encore/opt/egraph/program/ast.h"
#include "encore/opt/egraph/program/expressions.h"
#include "encore/opt/egraph/program/rules.h"

namespace encore::opt::program {

class DeclarationChecker {
 public:
  // Both must outlive this.
  DeclarationChecker(CheckContext* context, RuleChecker* rules)
      : context_(*context), rules_(*rules) {}

  // Each checks the command at node `i` and declares what it names.
  void CheckSort(uint32_t i);
  void CheckDatatype(uint32_t i);
  void CheckDatatypes(uint32_t i);
  void CheckConstructor(uint32_t i);
  void CheckRelation(uint32_t i);
  void CheckRuleset(uint32_t i);
  void CheckCombinedRuleset(uint32_t i);

  // Declares the name at symbol node `i`, unless it is taken.
  bool Declare(uint32_t i, NameKind kind, uint32_t id);

 private:
  std::optional<SortId> DeclareSort(uint32_t i);
  void CheckVariant(uint32_t i, SortId sort);
  std::optional<SortId> FindSort(uint32_t i);
  bool FindSorts(std::span<const uint32_t> elements,
                 std::vector<SortId>* sorts);
  bool ReadTableOptions(std::span<const uint32_t> elements, size_t first,
                        Table* table);
  void DeclareTable(uint32_t name, Table table);

  CheckContext& context_;
  RuleChecker& rules_;
};

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_DECLARATIONS_H_
