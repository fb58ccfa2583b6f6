// Why a session does not find a graph on disk.
#ifndef ENCORE_CACHE_SESSION_EXPLAIN_MISS_H_
#define ENCORE_CACHE_SESSION_EXPLAIN_MISS_H_

#include <optional>
#include <string>

#include "encore/cache/session/session.h"
#include "encore/cache/session/session_options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

// The nearest entry is one of the same graph, or else of another, from which
// the fewest ingredients differ; of several, the one that was used last. Looked
// at are the entries that were used last, kMostExplained at most. Cost: mapping
// and reading the head of each.
inline constexpr size_t kMostExplained = 256;

// What differs first between the nearest entry on disk and `graph`. Nothing
// where the graph is there or there is no entry.
StatusOr<std::optional<std::string>> ExplainMiss(
    const Session& session, const Graph& graph,
    const LoadOptions& options = {});

// The same after a Load that compiled: the entry of the graph itself, which is
// there by now or is still being written, does not count. Nothing where there
// is no other. With SessionOptions::write_behind, entries of earlier loads that
// are still being written are not seen: Session::Flush before the load.
StatusOr<std::optional<std::string>> ExplainCompiled(
    const Session& session, const Graph& graph,
    const LoadOptions& options = {});

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_EXPLAIN_MISS_H_
