// A session's graph as a package; with calls, as a recording.
#ifndef ENCORE_CACHE_SESSION_EXPORT_H_
#define ENCORE_CACHE_SESSION_EXPORT_H_

#include <span>
#include <string>

#include "encore/cache/package/loaded.h"
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

// The same of what session.Load gave for this graph with these options: nothing
// is compiled and no weights are prepared again. InvalidArgument, saying what
// differs, for what was loaded for another graph or with other options, and, as
// far as the session knows weights by their digest, with other weights
// (Loaded::weights_digest).
StatusOr<Package> Export(Session& session, const Graph& graph,
                         const Loaded& loaded,
                         std::span<const Package::Call> calls,
                         const LoadOptions& options = {});

// Each exports to a file, which is as it was in case of an error.
Status Record(Session& session, const std::string& path, const Graph& graph,
              std::span<const Package::Call> calls,
              const LoadOptions& options = {});
Status Record(Session& session, const std::string& path, const Graph& graph,
              const Loaded& loaded, std::span<const Package::Call> calls,
              const LoadOptions& options = {});

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_EXPORT_H_
