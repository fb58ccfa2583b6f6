#include "encore/runtime/plan/sizes.h"

#include "encore/ir/types/dim_symbols.h"
#include "encore/ir/types/dtype.h"

namespace encore::runtime {

Dim DenseBytes(const TensorType& type) {
  if (type.kind != ValueKind::kTensor || IsString(type.dtype)) return 0;
  const Dim elements = type.shape.ElementCount();
  const int bits = BitWidth(type.dtype);
  if (bits % 8 == 0) return elements * Dim(bits / 8);
  return FloorDiv(elements * Dim(bits) + Dim(7), 8);
}

std::vector<Symbol> DimSymbols(const CompiledGraph& graph) {
  std::vector<Symbol> symbols;
  symbols.reserve(graph.symbols.size());
  for (const SymbolInfo& info : graph.symbols) {
    symbols.push_back(
        {.name = {},
         .lower = info.lower,
         .upper = info.upper,
         .at_run_time = info.source == SymbolInfo::Source::kSlot});
  }
  return symbols;
}

bool IsRunTimeSized(const CompiledGraph& graph, const Dim& dim) {
  bool found = false;
  ForEachSymbol(dim, [&](uint32_t symbol) {
    found |= graph.symbols[symbol].source == SymbolInfo::Source::kSlot;
  });
  return found;
}

}  // namespace encore::runtime
