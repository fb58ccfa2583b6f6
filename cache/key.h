// The cache key: SHA-256 over everything that a compiled graph depends on.
//
//   format version, compiler id, each option that options.def says enters the
//   key, each ingredient of the targets' fingerprints, and the graph's stencil
//   (ir/stencil.h), in which names and parameter values do not count.
//
// Equal keys mean equal ingredients; what is found under a key is still
// compared with them byte by byte before it is used.
#ifndef ENCORE_CACHE_KEY_H_
#define ENCORE_CACHE_KEY_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/options.h"
#include "encore/ir/graph.h"
#include "encore/ir/literal.h"
#include "encore/ir/stencil.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

// Raised whenever entries of the same key would be read differently.
inline constexpr std::string_view kFormatVersion = "1";

// Name and value of each thing that generated code depends on, as
// backends::Backend::Target gives it.
using Target = std::vector<std::pair<std::string, std::string>>;

struct KeyIngredients {
  // Everything but the graph, in a fixed order: ("option.precision", "f32").
  std::vector<std::pair<std::string, std::string>> parts;
  std::string stencil;
  // What the stencil has as digests; not part of the key.
  std::vector<Literal> constants;
  // Why the graph has no key, where it has none.
  std::optional<std::string> unkeyable;
};

KeyIngredients IngredientsOf(const Graph& graph,
                             const backends::CompileOptions& options,
                             const Target& target);
KeyIngredients IngredientsOf(Stencil stencil,
                             const backends::CompileOptions& options,
                             const Target& target);

// The bytes that are hashed. EncodeIngredients and back; InvalidArgument for
// bytes that are not of that form.
std::string EncodeIngredients(const KeyIngredients& ingredients);
StatusOr<KeyIngredients> DecodeIngredients(std::string_view bytes);

Digest KeyOf(const KeyIngredients& ingredients);

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

#endif  // ENCORE_CACHE_KEY_H_
