// What a rewritten region still needs.
#ifndef ENCORE_BACKENDS_CPU_LOOPS_PRUNE_H_
#define ENCORE_BACKENDS_CPU_LOOPS_PRUNE_H_

#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

// Leaves out expressions that no stage needs, accesses that no expression
// makes, and the Contraction: code is planned by all that stand in a region.
// Operands, variables, checks and stages keep their numbers.
void Prune(Region* region);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_LOOPS_PRUNE_H_
