// What a session's compiler chooses for a graph, whether it is in the cache or
// not.
#ifndef ENCORE_CACHE_SESSION_EXPLAIN_LOWERING_H_
#define ENCORE_CACHE_SESSION_EXPLAIN_LOWERING_H_

#include <string>
#include <string_view>

#include "encore/backends/lowering/lowering_report.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/session_options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

// Why each kernel of `graph` ends where it ends (FusionText), under the names
// of the graph's origins, each as `shown` writes it within a line of text: they
// may hold any bytes. Optimizes and lowers it again, at the cost of both.
// FailedPrecondition where the compiler does not say; else errors of Load.
StatusOr<backends::LoweringReport> ExplainLowering(
    const Session& session, const Graph& graph, const LoadOptions& options,
    std::string (*shown)(std::string_view name));

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_EXPLAIN_LOWERING_H_
