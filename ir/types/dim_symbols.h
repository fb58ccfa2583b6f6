// The symbols that a dim depends on.
#ifndef ENCORE_IR_TYPES_DIM_SYMBOLS_H_
#define ENCORE_IR_TYPES_DIM_SYMBOLS_H_

#include <cstdint>

#include "encore/ir/types/dim.h"

namespace encore {

// Calls visit(uint32_t symbol) for each occurrence of a symbol in `dim`, the
// operands of its operations included: in the order of the canonical form, the
// first operand before the second, so equal dims give equal sequences. A symbol
// that occurs several times is visited as often; constants and invalid dims
// have none. Linear in the size of the expression; the recursion is at most
// kMaxDimDepth deep.
template <typename Visit>
void ForEachSymbol(const Dim& dim, Visit&& visit) {
  for (const Dim::Term& term : dim.terms()) {
    for (const Dim::Factor& factor : term.factors) {
      if (factor.op == Dim::Op::kSymbol) {
        visit(factor.symbol);
      } else {
        ForEachSymbol(*factor.a, visit);
        ForEachSymbol(*factor.b, visit);
      }
    }
  }
}

}  // namespace encore

#endif  // ENCORE_IR_TYPES_DIM_SYMBOLS_H_
