// Which variables of a query its facts bind.
//
// A variable is bound where it is an argument of a table pattern, and where an
// = chain makes it equal to something computable: a table pattern, a literal,
// a global, a bound variable, or a primitive of computable arguments.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_GROUNDING_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_GROUNDING_H_

#include <cstdint>
#include <optional>

#include "encore/opt/egraph/program/ast.h"

namespace encore::opt::program {

// The first variable below `num_variables` that `query` does not bind, if any.
// Linear in the size of the query.
std::optional<uint32_t> FindUnboundVariable(const Program& program,
                                            const Query& query,
                                            uint32_t num_variables);

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_GROUNDING_H_
