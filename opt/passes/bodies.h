// What passes ask of the bodies of control flow.
#ifndef ENCORE_OPT_PASSES_BODIES_H_
#define ENCORE_OPT_PASSES_BODIES_H_

#include "encore/ir/graph/graph.h"

namespace encore::opt {

// Whether a node of `body` or of a body in it defines a symbol.
bool DefinesSymbols(const Graph& body);

}  // namespace encore::opt

#endif  // ENCORE_OPT_PASSES_BODIES_H_
