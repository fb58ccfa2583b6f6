// Chosen terms as S-expressions.
#ifndef ENCORE_OPT_EGRAPH_MATCH_TERM_TEXT_H_
#define ENCORE_OPT_EGRAPH_MATCH_TERM_TEXT_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "encore/ir/support/status.h"
#include "encore/opt/egraph/core/egraph.h"

namespace encore::egraph {

// How a value of a literal sort, or of Unit, is written in a term.
using LiteralTextFn = std::function<std::string(const EGraph&, SortId, Value)>;

// LiteralPool::ToText, and "()" for Unit.
std::string DefaultLiteralText(const EGraph& graph, SortId sort, Value value);

// The node that stands for a class; nothing where it has no term.
using ChosenNodeFn = std::function<std::optional<NodeId>(ClassId)>;
// What is written for an argument instead of its term; empty: the term.
using TermNameFn = std::function<std::string_view(ClassId)>;

// The term of `c`, "(+ x (Const 1))"; `name` (null: never) is asked for all
// classes below c. NotFound where c has none, ResourceExhausted where it is
// longer than `max_bytes`: a shared subterm is written wherever it occurs.
// REQUIRES: what is chosen has no cycle and chosen arguments. No recursion.
StatusOr<std::string> TermText(const EGraph& graph, ClassId c,
                               const ChosenNodeFn& chosen, size_t max_bytes,
                               const LiteralTextFn& literal,
                               const TermNameFn& name = nullptr);

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_MATCH_TERM_TEXT_H_
