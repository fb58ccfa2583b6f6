// What a session is asked for: a graph's canonical form and its key, and beside
// them what belongs to the caller's graph alone, its names and weights.
#ifndef ENCORE_CACHE_SESSION_SESSION_REQUEST_H_
#define ENCORE_CACHE_SESSION_SESSION_REQUEST_H_

#include <string>
#include <vector>

#include "encore/backends/options.h"
#include "encore/cache/key/key.h"
#include "encore/cache/package/loaded.h"
#include "encore/cache/session/session_options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/opt/passes/pipeline.h"

namespace encore::cache {

struct SessionRequest {
  backends::CompileOptions options;  // the placement in canonical names
  KeyIngredients ingredients;
  Digest key;  // zeros where the graph has none (ingredients.unkeyable)
  Loaded::Names names;
  std::vector<std::string> parameter_names;
  // Per parameter; the status says which has none.
  std::vector<Literal> parameters;
  Status parameters_status;
  opt::PassObserver* passes = nullptr;  // LoadOptions::passes

  // Whether `compiled` is of this, not merely of the same key.
  bool IsMetBy(const Compiled& compiled) const {
    return compiled.ingredients.parts == ingredients.parts &&
           compiled.ingredients.stencil == ingredients.stencil;
  }
};

// The request for `graph`, specialized for the sizes in `load` where the
// compiler takes no symbols. InvalidArgument where a symbol has no value or one
// out of its bounds, and what the compiler says of the target. Thread-safe.
StatusOr<SessionRequest> MakeSessionRequest(const Graph& graph,
                                            const SessionOptions& session,
                                            const LoadOptions& load);

// FailedPrecondition, with the reason, where the graph of `request` has no key.
Status CheckKeyable(const SessionRequest& request);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_SESSION_REQUEST_H_
