#include "encore/cache/key/ingredients.h"

#include "encore/ir/support/bytes.h"

namespace encore::cache {

std::string EncodeIngredients(const KeyIngredients& ingredients) {
  ByteWriter out;
  out.Varint(ingredients.parts.size());
  for (const auto& [name, value] : ingredients.parts) {
    out.String(name);
    out.String(value);
  }
  out.String(ingredients.stencil);
  return out.Take();
}

StatusOr<KeyIngredients> DecodeIngredients(std::string_view bytes) {
  ByteReader in(bytes);
  KeyIngredients ingredients;
  const size_t count = in.Count(2);
  for (size_t i = 0; i < count && in.ok(); ++i) {
    std::string name(in.String());
    ingredients.parts.emplace_back(std::move(name), in.String());
  }
  ingredients.stencil = in.String();
  if (in.ok() && in.done()) return ingredients;
  return InvalidArgumentError("malformed key ingredients");
}

Digest KeyOf(const KeyIngredients& ingredients) {
  return Sha256Of(EncodeIngredients(ingredients));
}

}  // namespace encore::cache
