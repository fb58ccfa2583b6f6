// Layer normalizations of sums, and by the root mean square.

#include <utility>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/microsoft/standard_calls.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The dtype that sums and normalizations of `dtype` are computed in.
DType WideOf(DType dtype) { return BitWidth(dtype) < 32 ? DType::kF32 : dtype; }

// The standard's RMSNormalization over the dims from `axis` on; output
// `inverse` is what x and the scale are multiplied by.
StatusOr<Value> RmsNormalized(NodeContext& context, Value x, Value scale,
                              int64_t axis, float epsilon, int inverse) {
  GraphBuilder& g = context.builder();
  if (context.WantsOutput(inverse)) {
    const Value wide = g.Cast(x, WideOf(x.dtype()));
    const Value mean = g.Mean(g.Mul(wide, wide), AxesFrom(axis, x.rank()),
                              /*keep_dims=*/true);
    ENCORE_RETURN_IF_ERROR(
        context.Output(inverse, g.Rsqrt(g.Add(mean, epsilon))));
  }
  return StandardCalls(context).Call(
      "RMSNormalization", {x, scale},
      {IntAttr("axis", axis), FloatAttr("epsilon", epsilon)});
}

Status SimplifiedLayerNormalization(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0), scale = context.Input(1);
  ENCORE_ASSIGN_OR_RETURN(const float epsilon,
                          context.attributes().Float("epsilon", 1e-5f));
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.AxisAttribute(-1, x.rank()));
  context.attributes().Ignore("stash_type");
  // The two may be of different types, and y is of the scale's.
  const bool same = x.dtype() == scale.dtype();
  const DType dtype = same ? x.dtype() : WideOf(x.dtype());
  ENCORE_ASSIGN_OR_RETURN(
      const Value y, RmsNormalized(context, g.Cast(x, dtype),
                                   g.Cast(scale, dtype), axis, epsilon, 1));
  return context.Output(0, g.Cast(y, scale.dtype()));
}

// input + skip + bias, wide; output 3 is the sum. Skip may be one for all of
// the batch.
StatusOr<Value> SkipSum(NodeContext& context, int bias) {
  GraphBuilder& g = context.builder();
  const Value input = context.Input(0);
  const DType dtype = WideOf(input.dtype());
  if (input.rank() < 1) {
    return NodeContext::Error(
        StrCat("input 0 is ", input.type(), ", expected at least one dim"));
  }
  Value sum = input;
  for (const int i : {1, bias}) {
    if (!context.HasInput(i)) continue;
    const Value term = context.Input(i);
    if (term.rank() > input.rank()) {
      return NodeContext::Error(
          StrCat("input ", i, " is ", term.type(), ", input 0 ", input.type()));
    }
    const std::vector<Value> terms =
        BroadcastAll(context, {g.Cast(sum, dtype), g.Cast(term, dtype)});
    sum = g.Add(terms[0], terms[1]);
  }
  ENCORE_RETURN_IF_ERROR(context.Output(3, g.Cast(sum, input.dtype())));
  return sum;
}

Status SkipLayerNormalization(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 5));
  GraphBuilder& g = context.builder();
  const DType dtype = context.dtype(context.Input(0));
  ENCORE_ASSIGN_OR_RETURN(const float epsilon,
                          context.attributes().Float("epsilon", 1e-12f));
  ENCORE_ASSIGN_OR_RETURN(const Value sum, SkipSum(context, 4));
  std::vector<Value> operands = {sum, g.Cast(context.Input(2), sum.dtype())};
  if (context.HasInput(3)) {
    operands.push_back(g.Cast(context.Input(3), sum.dtype()));
  }
  const bool statistics = context.WantsOutput(1) || context.WantsOutput(2);
  ENCORE_ASSIGN_OR_RETURN(
      const std::vector<Value> results,
      StandardCalls(context).Call("LayerNormalization", operands,
                                  {FloatAttr("epsilon", epsilon)},
                                  statistics ? 3 : 1));
  for (size_t i = 1; i < results.size(); ++i) {
    ENCORE_RETURN_IF_ERROR(context.Output(static_cast<int>(i), results[i]));
  }
  return context.Output(0, g.Cast(results[0], dtype));
}

Status SkipSimplifiedLayerNormalization(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 4));
  GraphBuilder& g = context.builder();
  const DType dtype = context.dtype(context.Input(0));
  ENCORE_ASSIGN_OR_RETURN(const float epsilon,
                          context.attributes().Float("epsilon", 1e-12f));
  ENCORE_ASSIGN_OR_RETURN(const Value sum, SkipSum(context, 3));
  if (context.WantsOutput(1)) {  // the mean, which is not taken off
    ENCORE_RETURN_IF_ERROR(
        context.Output(1, g.Mean(sum, {sum.rank() - 1}, /*keep_dims=*/true)));
  }
  ENCORE_ASSIGN_OR_RETURN(
      const Value y,
      RmsNormalized(context, sum, g.Cast(context.Input(2), sum.dtype()),
                    sum.rank() - 1, epsilon, 2));
  return context.Output(0, g.Cast(y, dtype));
}

// How many ones each row of the mask, input 7, has; 0 without one.
Status MaskIndex(NodeContext& context, const Dim& batch) {
  GraphBuilder& g = context.builder();
  if (!context.HasInput(7)) {
    return context.Output(
        1, g.Full(Shape({batch}), context.Scalar(DType::kI32, 0)));
  }
  const Value mask = context.Input(7);
  if (mask.rank() != 2) {
    return NodeContext::Error(
        StrCat("input mask is ", mask.type(), ", expected a matrix"));
  }
  const Value ones = g.Cast(g.Compare(mask, 1, Comparison::kEq), DType::kI32);
  return context.Output(1, g.Sum(ones, {1}));
}

// The rows of embedding `table`, an input, at the ids; an id that is none ends
// the run.
StatusOr<Value> Embedded(NodeContext& context, int table, Value ids) {
  return StandardCalls(context).Call("Gather", {context.Input(table), ids});
}

Status EmbedLayerNormalization(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 9));
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const float epsilon,
                          attributes.Float("epsilon", 1e-12f));
  attributes.Ignore("mask_index_type");  // for shape inference
  const Value ids = context.Input(0);
  if (ids.rank() != 2) {
    return NodeContext::Error(
        StrCat("input input_ids is ", ids.type(), ", expected a matrix"));
  }
  if (context.HasInput(1) != context.HasInput(4)) {
    return NodeContext::Error(
        "inputs segment_ids and segment_embedding go together");
  }
  // Without position_ids a token's position is its place.
  const Value positions =
      context.HasInput(8) ? context.Input(8) : CountTo(context, ids.shape()[1]);
  ENCORE_ASSIGN_OR_RETURN(const Value words, Embedded(context, 2, ids));
  ENCORE_ASSIGN_OR_RETURN(const Value places, Embedded(context, 3, positions));
  std::vector<Value> terms = {words, places};
  if (context.HasInput(1)) {
    ENCORE_ASSIGN_OR_RETURN(const Value segments,
                            Embedded(context, 4, context.Input(1)));
    terms.push_back(segments);
  }
  terms = BroadcastAll(context, std::move(terms));
  GraphBuilder& g = context.builder();
  Value sum = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) sum = g.Add(sum, terms[i]);
  ENCORE_RETURN_IF_ERROR(MaskIndex(context, ids.shape()[0]));
  ENCORE_RETURN_IF_ERROR(context.Output(2, sum));
  ENCORE_ASSIGN_OR_RETURN(
      const Value y,
      StandardCalls(context).Call("LayerNormalization",
                                  {sum, context.Input(5), context.Input(6)},
                                  {FloatAttr("epsilon", epsilon)}));
  return context.Output(0, y);
}

constexpr Converter kConverters[] = {
    {"SimplifiedLayerNormalization", SimplifiedLayerNormalization,
     Op::kRmsNorm},
    {"com.microsoft.EmbedLayerNormalization", EmbedLayerNormalization,
     Op::kLayerNorm},
    {"com.microsoft.SimplifiedLayerNormalization", SimplifiedLayerNormalization,
     Op::kRmsNorm},
    {"com.microsoft.SkipLayerNormalization", SkipLayerNormalization,
     Op::kLayerNorm},
    {"com.microsoft.SkipSimplifiedLayerNormalization",
     SkipSimplifiedLayerNormalization, Op::kRmsNorm},
};

}  // namespace

std::span<const Converter> SkipNormalizationConverters() { return kConverters; }

}  // namespace encore::onnx
