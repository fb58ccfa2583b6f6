// Replay: runs a compiled graph once, for tests.
#ifndef ENCORE_BACKENDS_CONFORMANCE_REPLAY_H_
#define ENCORE_BACKENDS_CONFORMANCE_REPLAY_H_

#include <span>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

// The outputs of `compiled`, made from `graph`, for `arguments`, a literal per
// argument of the graph. Runs on devices of `backends`, on two threads. Errors
// of kernels that know it name the origin of the node in `graph`.
StatusOr<std::vector<Literal>> Replay(const Graph& graph,
                                      const runtime::CompiledGraph& compiled,
                                      std::span<const Backend* const> backends,
                                      std::span<const Literal> arguments);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_REPLAY_H_
