// Whether indices that a model gives may be out of range.
//
// The standard calls that an error. Where the graph shows that none is, a
// gather or scatter keeps its own rule, which costs nothing; where it does not,
// the run checks; where constants are out of range, the model is wrong.
#ifndef ENCORE_IR_IMPORT_ONNX_SHAPES_INDEX_RANGE_H_
#define ENCORE_IR_IMPORT_ONNX_SHAPES_INDEX_RANGE_H_

#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dim.h"

namespace encore::onnx {

// What a gather or scatter, whose `own` rule is kClamp, kDrop, or kError for
// other parts of its indices, makes of those out of range: `own` where each of
// `indices`, negative ones counted from the end, is surely one of `extent`
// elements, else kError. InvalidArgument where a constant is not; in a
// subgraph, which may never run, that is kError too.
StatusOr<OutOfRange> RuleForIndices(NodeContext& context, Value indices,
                                    const Dim& extent, OutOfRange own);

// Whether `a` is at most `b` whatever the symbols are.
bool NeverAbove(NodeContext& context, const Dim& a, const Dim& b);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SHAPES_INDEX_RANGE_H_
