// What assertions say of data-dependent symbols, used.
//
// Two symbols that an assertion requires to be equal are one symbol, one that
// must be a constant is that constant, one that must be a multiple of n is n
// times a symbol, and bounds that are required are bounds of the symbol. Shapes
// then agree where the program only asserted that they do: reshapes between
// them are identities, buffers are reused, memory is planned by the bound.
//
// Of two symbols the one that is defined first stays. The definition of the
// other becomes an assertion that it has the value, and every output that
// depended on the symbol depends on that assertion: a run in which it fails
// still ends with an error, and what was computed before was consistent with
// the symbol that stays.
#ifndef ENCORE_OPT_PASSES_SYMBOL_FACTS_H_
#define ENCORE_OPT_PASSES_SYMBOL_FACTS_H_

#include <optional>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::opt {

// The graph, and its bodies, with what assertions say of symbols that
// define_symbols nodes define put in place of them, and without assertions that
// are sure to hold; nothing where nothing is known. A symbol is only replaced
// in the graph or body that defines it, by what is defined before it. Linear in
// the graph for each of at most kMaxSymbolFacts facts.
StatusOr<std::optional<Graph>> ApplySymbolFacts(const Graph& graph);

// Later facts are not used.
inline constexpr int kMaxSymbolFacts = 256;

}  // namespace encore::opt

#endif  // ENCORE_OPT_PASSES_SYMBOL_FACTS_H_
