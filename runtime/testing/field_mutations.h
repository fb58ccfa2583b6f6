// MutateField: a compiled graph with one field as nobody compiled it.
//
// Which fields there are says compiled_graph_fields.h, so that one that is
// added is mutated too. plan_mutations.h has the small mistakes of a planner.
#ifndef ENCORE_RUNTIME_TESTING_FIELD_MUTATIONS_H_
#define ENCORE_RUNTIME_TESTING_FIELD_MUTATIONS_H_

#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/testing/sample_plans.h"

namespace encore::runtime {

// Changes a value, a text, a dim, or a list by an item, or a blob. The same for
// equal states of `random`.
void MutateField(CompiledGraph* graph, Random& random);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_TESTING_FIELD_MUTATIONS_H_
