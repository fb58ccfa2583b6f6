#include "encore/ir/import/onnx/microsoft/heads.h"

#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Whether a key is seen, from a mask of lengths [B], or ends and starts [2 B].
Value SeenByLength(NodeContext& context, Value mask, const MaskShape& shape) {
  GraphBuilder& g = context.builder();
  const auto part = [&](const Dim& first) {
    const Value numbers = g.SliceAxis(mask, 0, first, first + shape.batch);
    return g.Unsqueeze(g.Cast(numbers, DType::kI64), {1, 2, 3});
  };
  const Value places = CountTo(context, shape.keys);
  const Value before = g.Compare(places, part(0), Comparison::kLt);
  if (!(mask.shape()[0] == shape.batch * 2)) return before;
  return g.And(before, g.Compare(places, part(shape.batch), Comparison::kGe));
}

StatusOr<Value> Seen(NodeContext& context, Value mask, const MaskShape& shape) {
  GraphBuilder& g = context.builder();
  if (mask.rank() == 1) {
    for (const Dim& known :
         {shape.batch, shape.batch * 2, shape.batch * 3 + Dim(2)}) {
      if (mask.shape()[0] == known) return SeenByLength(context, mask, shape);
    }
  }
  if (mask.rank() != 2 && mask.rank() != 3) {
    return UnimplementedError(
        StrCat("the mask is ", mask.type(),
               ", expected a vector for each sample, or rank 2 or 3"));
  }
  const Value seen = g.Compare(mask, 0, Comparison::kGt);
  return mask.rank() == 2 ? g.Unsqueeze(seen, {1, 2}) : g.Unsqueeze(seen, {1});
}

}  // namespace

StatusOr<int64_t> ReadHeadCount(NodeContext& context, std::string_view name) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t heads,
                          context.attributes().RequiredInt(name));
  if (heads >= 1 && heads <= INT32_MAX) return heads;
  return NodeContext::Error(StrCat("attribute ", name, " is ", heads,
                                   ", expected a positive number"));
}

StatusOr<Value> MaskAndBias(NodeContext& context, int mask, int bias,
                            const MaskShape& shape, DType dtype) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(
      const float filter,
      context.attributes().Float("mask_filter_value", -10000.0f));
  Value sum;
  if (context.HasInput(mask)) {
    ENCORE_ASSIGN_OR_RETURN(const Value seen,
                            Seen(context, context.Input(mask), shape));
    sum = g.Select(seen, context.Scalar(dtype, 0), filter);
  }
  if (!context.HasInput(bias)) return sum;
  const Value given = context.Input(bias);
  if (given.rank() != 4) {
    return context.ShapeMismatch(
        StrCat("input attention_bias is ", given.type(), ", expected rank 4"));
  }
  if (!sum.valid()) return given;
  const std::vector<Value> terms = BroadcastAll(context, {sum, given});
  return g.Add(terms[0], terms[1]);
}

}  // namespace encore::onnx
