// Sizes of a compiled graph's slots: Dims over its symbols.
#ifndef ENCORE_RUNTIME_PLAN_SIZES_H_
#define ENCORE_RUNTIME_PLAN_SIZES_H_

#include <vector>

#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// Bytes of a dense tensor of that type, 4-bit elements packed; 0 for host
// objects.
Dim DenseBytes(const TensorType& type);

// The symbols of `graph` in the form Dim's bounds are asked with.
std::vector<Symbol> DimSymbols(const CompiledGraph& graph);

// Whether `dim` depends on a run-time symbol of `graph`.
bool IsRunTimeSized(const CompiledGraph& graph, const Dim& dim);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_SIZES_H_
