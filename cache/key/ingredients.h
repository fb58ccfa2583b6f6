// What a cache key is made of, as values and as bytes.
//
// This header sees no Graph: whoever only replays reads ingredients with it.
// key.h makes them from a graph.
#ifndef ENCORE_CACHE_KEY_INGREDIENTS_H_
#define ENCORE_CACHE_KEY_INGREDIENTS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::cache {

// Raised whenever entries of the same key would be read differently.
inline constexpr std::string_view kFormatVersion = "2";

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

// The bytes that are hashed. EncodeIngredients and back; InvalidArgument for
// bytes that are not of that form.
std::string EncodeIngredients(const KeyIngredients& ingredients);
StatusOr<KeyIngredients> DecodeIngredients(std::string_view bytes);

Digest KeyOf(const KeyIngredients& ingredients);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_KEY_INGREDIENTS_H_
