// A session's graph as a package; with calls, as a recording.
#ifndef ENCORE_CACHE_SESSION_EXPORT_H_
#define ENCORE_CACHE_SESSION_EXPORT_H_

#include <span>
#include <string>

#include "encore/cache/package/package.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/session_options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

// A call without outputs gets those of a replay. Where the plan is for another
// machine than this one, a package is without derived slots; a recording is
// then an error.
StatusOr<Package> Export(Session& session, const Graph& graph,
                         std::span<const Package::Call> calls,
                         const LoadOptions& options = {});

// Exports to a file.
Status Record(Session& session, const std::string& path, const Graph& graph,
              std::span<const Package::Call> calls,
              const LoadOptions& options = {});

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_EXPORT_H_
