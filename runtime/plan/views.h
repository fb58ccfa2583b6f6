// The tensors that slots name, and what they count as where memory is planned.
#ifndef ENCORE_RUNTIME_PLAN_VIEWS_H_
#define ENCORE_RUNTIME_PLAN_VIEWS_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "encore/ir/types/shape.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// The tensor whose bytes a slot's are: a view's base, else the slot itself.
// Places in an arena are tensors of their own: what two of them hold is never
// alive at once where they share bytes. REQUIRES ids in range.
inline SlotId TensorOf(const CompiledGraph& graph, SlotId slot) {
  const SlotId base = graph.slot(slot).base;
  return base.valid() && !graph.slot(base).is_arena ? base : slot;
}

// The most bytes that a slot may take under `symbols` (DimSymbols), and 2^40
// for more, so that those of thousands add up within int64.
inline int64_t MostBytes(const CompiledGraph& graph, SlotId slot,
                         std::span<const Symbol> symbols) {
  return std::min(graph.slot(slot).bytes.UpperBound(symbols), int64_t{1} << 40);
}

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_VIEWS_H_
