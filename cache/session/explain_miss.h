// Why a session would not find a graph on disk.
#ifndef ENCORE_CACHE_SESSION_EXPLAIN_MISS_H_
#define ENCORE_CACHE_SESSION_EXPLAIN_MISS_H_

#include <optional>
#include <string>

#include "encore/cache/session/session.h"
#include "encore/cache/session/session_options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

// The entry on disk that shares most ingredients with `graph`, and what differs
// first. Nothing where the graph is there or there is no entry.
StatusOr<std::optional<std::string>> ExplainMiss(
    const Session& session, const Graph& graph,
    const LoadOptions& options = {});

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_EXPLAIN_MISS_H_
