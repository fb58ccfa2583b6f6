// Plans in files of their own: a graph's compiled form, without its weights.
#ifndef ENCORE_CACHE_SESSION_PLAN_FILE_H_
#define ENCORE_CACHE_SESSION_PLAN_FILE_H_

#include <string>

#include "encore/cache/session/session.h"
#include "encore/cache/session/session_options.h"
#include "encore/cache/store/trust.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

// Writes the graph's plan, compiled or recalled, to `path`. FailedPrecondition
// for a graph without key.
Status SavePlan(Session& session, const std::string& path, const Graph& graph,
                const LoadOptions& options = {});

// Makes the session's Load find the file's plan in memory: false, with a log
// line, where the file is not there or was made for another graph or target;
// DataLoss for a damaged one. With CodeTrust::kRun the file's plan and code are
// loaded, as foreign code; otherwise the graph is compiled, or recalled, with
// the kernels that the file's measurements chose, and nothing else of the file
// is used.
StatusOr<bool> LoadPlan(Session& session, const std::string& path,
                        const Graph& graph, CodeTrust trust,
                        const LoadOptions& options = {});

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_PLAN_FILE_H_
