// What tests ask of a compiled graph: its bytes, and that it is right.
#ifndef ENCORE_BACKENDS_CONFORMANCE_COMPILED_CHECK_H_
#define ENCORE_BACKENDS_CONFORMANCE_COMPILED_CHECK_H_

#include <string>

#include "encore/ir/graph/graph.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

// Equal for equal plans.
std::string BytesOf(const runtime::CompiledGraph& compiled);

// Replays `compiled`, made from `graph`, on the built-in backends and expects
// its outputs within their bounds (bounds.h).
void ExpectRight(const Graph& graph, const runtime::CompiledGraph& compiled);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_COMPILED_CHECK_H_
