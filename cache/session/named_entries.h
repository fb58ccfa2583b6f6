// Compiled graphs under names of the caller's own, in a session's disk store.
#ifndef ENCORE_CACHE_SESSION_NAMED_ENTRIES_H_
#define ENCORE_CACHE_SESSION_NAMED_ENTRIES_H_

#include <optional>
#include <string_view>

#include "encore/cache/session/session.h"
#include "encore/cache/session/session_options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

// Compiles or recalls `graph`, and keeps its key under `name`. Gives the key;
// FailedPrecondition for a graph that has none.
StatusOr<Digest> PutNamed(Session& session, std::string_view name,
                          const Graph& graph, const LoadOptions& options = {});

// The key under `name`; the graph itself is recalled by Session::Load. Nothing
// where there is none, and without a disk store.
std::optional<Digest> GetNamed(const Session& session, std::string_view name);

// Whether Load would find what is under `name` on disk.
bool ContainsNamed(const Session& session, std::string_view name);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_NAMED_ENTRIES_H_
