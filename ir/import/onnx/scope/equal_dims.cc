#include "encore/ir/import/onnx/scope/equal_dims.h"

#include <algorithm>

#include "encore/ir/types/dim_symbols.h"

namespace encore::onnx {
namespace {

bool Mentions(const Dim& dim, uint32_t symbol) {
  bool found = false;
  ForEachSymbol(dim, [&](uint32_t other) { found |= other == symbol; });
  return found;
}

}  // namespace

void EqualDims::Add(const Dim& a, const Dim& b) {
  Dim from = Canonical(a), to = Canonical(b);
  if (!from.valid() || !to.valid() || from == to) return;
  if (!from.symbol() || Mentions(to, *from.symbol())) std::swap(from, to);
  if (!from.symbol() || Mentions(to, *from.symbol())) {
    others_.emplace_back(a, b);
    return;
  }
  const uint32_t symbol = *from.symbol();
  while (replacements_.size() <= symbol) {
    replacements_.push_back(
        Dim::OfSymbol(static_cast<uint32_t>(replacements_.size())));
  }
  std::vector<Dim> one;
  for (uint32_t i = 0; i < symbol; ++i) one.push_back(Dim::OfSymbol(i));
  one.push_back(to);
  for (Dim& dim : replacements_) dim = dim.Substitute(one);
}

bool EqualDims::AreEqual(const Dim& a, const Dim& b) const {
  const Dim x = Canonical(a), y = Canonical(b);
  if (x == y) return x.valid();
  return std::ranges::any_of(others_, [&](const auto& pair) {
    const Dim p = Canonical(pair.first), q = Canonical(pair.second);
    return (p == x && q == y) || (p == y && q == x);
  });
}

}  // namespace encore::onnx
