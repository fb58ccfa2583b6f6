// From rules and queries of a program to the engine's rules.
//
// A table pattern becomes an atom, an = chain an equality of slots, a
// primitive a guard or a computation of an action. Values of sort Unit are all
// equal, so nothing is matched on them.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_RULE_LOWERING_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_RULE_LOWERING_H_

#include <optional>
#include <span>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/egraph/core/language.h"
#include "encore/opt/egraph/match/rule.h"
#include "encore/opt/egraph/program/ast.h"
#include "encore/opt/egraph/program/language_map.h"

namespace encore::opt::program {

// Values of the largest terms without variables in a query, by expression.
using GroundValues = absl::flat_hash_map<ExprId, egraph::Value>;

// Looks up the terms without variables of `query`, inserting nothing; nothing
// where one is no row or undefined, so that the query cannot hold. REQUIRES:
// graph->rebuilt(). Linear in the size of the query.
std::optional<GroundValues> LookUpGroundTerms(
    const Program& program, const Query& query, const LanguageMap& map,
    std::span<const egraph::Value> globals, egraph::EGraph* graph);

// The query as a rule without actions for one state of the graph: its terms
// without variables are constants. `globals` has the values of the globals
// that are defined, by global.
StatusOr<egraph::Rule> LowerQuery(const Program& program, const Query& query,
                                  const GroundValues& ground,
                                  const LanguageMap& map,
                                  std::span<const egraph::Value> globals,
                                  egraph::Language* language);

StatusOr<egraph::Rule> LowerRule(const Program& program, const Rule& rule,
                                 std::string_view name, const LanguageMap& map,
                                 std::span<const egraph::Value> globals,
                                 egraph::Language* language);

// Whether more matches of `query` than those of new rows may appear: bool-!=
// on classes becomes false when they are united.
bool NeedsFullMatching(const Program& program, const Query& query);

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_RULE_LOWERING_H_
