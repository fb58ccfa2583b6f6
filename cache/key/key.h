// The cache key: SHA-256 over everything that a compiled graph depends on.
//
//   format version, compiler id, each option that options.def says enters the
//   key, the rule book's digest where rules may be used, each ingredient of
//   the targets' fingerprints, and the graph's stencil (ir/graph/stencil.h), in
//   which names and parameter values do not count.
//
// Equal keys mean equal ingredients; what is found under a key is still
// compared with them byte by byte before it is used.
#ifndef ENCORE_CACHE_KEY_KEY_H_
#define ENCORE_CACHE_KEY_KEY_H_

#include <optional>
#include <string>

#include "encore/backends/options.h"
#include "encore/cache/key/ingredients.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

KeyIngredients IngredientsOf(const Graph& graph,
                             const backends::CompileOptions& options,
                             const Target& target);
KeyIngredients IngredientsOf(Stencil stencil,
                             const backends::CompileOptions& options,
                             const Target& target);

// FailedPrecondition for a graph that cannot be keyed (a custom op without
// digest), with the reason.
StatusOr<Digest> CacheKey(const Graph& graph,
                          const backends::CompileOptions& options,
                          const Target& target);

// Why the keys differ: the first ingredient that does, with both values; for
// the graph the first node. Nothing where they are equal.
std::optional<std::string> Explain(const KeyIngredients& a,
                                   const KeyIngredients& b);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_KEY_KEY_H_
