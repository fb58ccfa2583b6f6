#include "encore/ir/import/onnx/shapes/pad_to.h"

#include "encore/ir/support/status_macros.h"

namespace encore::onnx {

StatusOr<Value> PadTo(NodeContext& context, Value x, const IndexExprs& lows,
                      const IndexExprs& to, Value fill,
                      std::string_view message, ShapeBuilder* shapes) {
  const Shape shape = context.shape(x);
  Dims low, high;
  for (int d = 0; d < shape.rank(); ++d) {
    // A symbol is no negative number: one for what comes before x, one for what
    // is cut there.
    low.push_back(lows[d].known() ? lows[d].dim()
                                  : shapes->Define(Max(lows[d], 0)) -
                                        shapes->Define(Max(0 - lows[d], 0)));
    high.push_back(shapes->Define(to[d]) - shape[d] - low[d]);
  }
  ENCORE_ASSIGN_OR_RETURN(x, shapes->Assert(x, message));
  return context.builder().Pad(x, fill, std::move(low), std::move(high));
}

}  // namespace encore::onnx
