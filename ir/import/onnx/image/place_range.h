// Whether numbers of places that a model gives may be out of range.
#ifndef ENCORE_IR_IMPORT_ONNX_IMAGE_PLACE_RANGE_H_
#define ENCORE_IR_IMPORT_ONNX_IMAGE_PLACE_RANGE_H_

#include <string_view>

#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dim.h"

namespace encore::onnx {

// The rule of a gather whose starts come from `places`, integers or numbers
// that are cast to such: kClamp, which costs nothing, where they are constants
// from 0 to below `extent`, else kError. Unlike indices (RuleForIndices) none
// counts from the end. InvalidArgument, naming the node's `input`, where a
// constant is out of range; in a subgraph, which may never run, that is kError.
StatusOr<OutOfRange> RuleForPlaces(NodeContext& context, Value places,
                                   const Dim& extent, std::string_view input);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_IMAGE_PLACE_RANGE_H_
