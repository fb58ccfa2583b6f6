#include "encore/cache/key/key.h"

#include <algorithm>
#include <bit>

#include "encore/cache/key/compiler_id.h"
#include "encore/ir/graph/equal.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/tensor/rule_book.h"

namespace encore::cache {
namespace {

std::string OptionText(bool value) { return value ? "true" : "false"; }
std::string OptionText(int64_t value) { return StrCat(value); }
std::string OptionText(double value) {
  return StrCat(value, " ", std::bit_cast<uint64_t>(value));
}
std::string OptionText(const std::string& value) { return value; }
template <typename Enum>
  requires std::is_enum_v<Enum>
std::string OptionText(Enum value) {
  return std::string(backends::Name(value));
}

// The first difference of two stencils.
std::string ExplainStencils(const KeyIngredients& a, const KeyIngredients& b) {
  const auto a_graph = ReadStencil(a.stencil, a.constants);
  const auto b_graph = ReadStencil(b.stencil, b.constants);
  if (a_graph.ok() && b_graph.ok()) {
    if (const auto difference = FirstDifference(*a_graph, *b_graph)) {
      return StrCat("graph: ", *difference);
    }
  }
  const auto [at, other] = std::mismatch(a.stencil.begin(), a.stencil.end(),
                                         b.stencil.begin(), b.stencil.end());
  return StrCat("graph: stencils differ from byte ", at - a.stencil.begin());
}

}  // namespace

KeyIngredients IngredientsOf(const Graph& graph,
                             const backends::CompileOptions& options,
                             const Target& target) {
  return IngredientsOf(MakeStencil(graph), options, target);
}

KeyIngredients IngredientsOf(Stencil stencil,
                             const backends::CompileOptions& options,
                             const Target& target) {
  KeyIngredients ingredients;
  auto& parts = ingredients.parts;
  parts.emplace_back("format", kFormatVersion);
  parts.emplace_back("compiler", CompilerId());
  backends::VisitOptions(
      options, [&](const backends::OptionInfo& info, const auto& value) {
        if (!info.in_key) return;
        parts.emplace_back(StrCat("option.", info.name), OptionText(value));
      });
  if (options.rewrites != backends::Rewrites::kNone) {
    parts.emplace_back("rules", opt::RuleBookDigest());
  }
  for (const auto& [name, value] : target) {
    parts.emplace_back(StrCat("target.", name), value);
  }
  ingredients.stencil = std::move(stencil.bytes);
  ingredients.constants = std::move(stencil.constants);
  ingredients.unkeyable = std::move(stencil.unkeyable);
  return ingredients;
}

StatusOr<Digest> CacheKey(const Graph& graph,
                          const backends::CompileOptions& options,
                          const Target& target) {
  const KeyIngredients ingredients = IngredientsOf(graph, options, target);
  if (!ingredients.unkeyable) return KeyOf(ingredients);
  return FailedPreconditionError(
      StrCat("the graph cannot be cached: ", *ingredients.unkeyable));
}

std::optional<std::string> Explain(const KeyIngredients& a,
                                   const KeyIngredients& b) {
  const size_t count = std::max(a.parts.size(), b.parts.size());
  for (size_t i = 0; i < count; ++i) {
    if (i >= a.parts.size()) return StrCat(b.parts[i].first, ": only in one");
    if (i >= b.parts.size()) return StrCat(a.parts[i].first, ": only in one");
    const auto& [a_name, a_value] = a.parts[i];
    const auto& [b_name, b_value] = b.parts[i];
    if (a_name != b_name) {
      return StrCat(a_name, ": in the other there is ", b_name);
    }
    if (a_value != b_value) {
      return StrCat(a_name, ": ", Quote(a_value), " and ", Quote(b_value));
    }
  }
  if (a.stencil == b.stencil) return std::nullopt;
  return ExplainStencils(a, b);
}

}  // namespace encore::cache
