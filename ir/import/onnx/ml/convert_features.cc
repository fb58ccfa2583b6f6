// ai.onnx.ml: features taken, joined, scaled and filled in.

#include <cmath>
#include <span>
#include <string>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/ml/scores.h"
#include "encore/ir/import/onnx/shapes/index_range.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

Value AsFloat(GraphBuilder& g, Value x) {
  return x.dtype() == DType::kF32 ? x : g.Cast(x, DType::kF32);
}

// Elements along the last axis; of a vector, a matrix of one row.
Status ArrayFeatureExtractor(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  GraphBuilder& g = context.builder();
  Value x = context.Input(0), indices = context.Input(1);
  if (x.rank() == 0) {
    return NodeContext::Error("input X is a scalar, expected a last axis");
  }
  if (x.rank() == 1) x = g.Unsqueeze(x, {0});
  const int axis = x.rank() - 1;
  const Dim extent = x.shape()[axis];
  indices = context.Reshape(indices, {indices.shape().ElementCount()});
  const Literal* known = indices.constant();
  for (int64_t i = 0; known != nullptr && i < known->element_count(); ++i) {
    if (known->AsInt(i) >= 0) continue;
    return NodeContext::Error(StrCat("input Y has the index ", known->AsInt(i),
                                     ", which is negative"));
  }
  ENCORE_ASSIGN_OR_RETURN(
      const OutOfRange rule,
      RuleForIndices(context, indices, extent, OutOfRange::kClamp));
  GatherAttrs gather;
  gather.out_of_range = rule;
  for (int i = 0; i < axis; ++i) gather.offset_dims.push_back(i);
  gather.collapsed_slice_dims = {axis};
  gather.start_index_map = {axis};
  gather.index_vector_dim = 1;
  gather.slice_sizes = x.shape().dims();
  gather.slice_sizes[axis] = 1;
  return context.Output(0, g.Gather(x, indices, std::move(gather)));
}

Status Binarizer(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const float threshold,
                          context.attributes().Float("threshold", 0));
  const Value x = context.Input(0);
  // An integer is compared with a threshold between integers as a float is.
  const Value wide = IsFloat(x.dtype()) ? x : g.Cast(x, DType::kF64);
  return context.Output(
      0, g.Cast(g.Compare(wide, threshold, Comparison::kGt), x.dtype()));
}

// Input i as rows of `width` columns: cut, or filled with zeros.
StatusOr<Value> FittedRows(NodeContext& context, int i, int64_t width) {
  GraphBuilder& g = context.builder();
  Value x = context.Input(i);
  if (x.rank() < 1 || x.rank() > 2) {
    return NodeContext::Error(
        StrCat("input ", i, " is ", x.type(), ", expected [N, C] or [C]"));
  }
  if (x.rank() == 1) x = g.Unsqueeze(x, {0});
  x = AsFloat(g, x);
  ENCORE_RETURN_IF_ERROR(g.status());
  const Dim columns = x.shape()[1];
  if (!columns.is_constant()) {
    return context.Reshape(x, {x.shape()[0], width});
  }
  if (columns.constant() > width) return g.SliceAxis(x, 1, 0, width);
  if (columns.constant() == width) return x;
  return g.Pad(x, 0.0, {0, 0}, {0, width - columns.constant()});
}

Status FeatureVectorizer(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, INT16_MAX));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const Ints widths,
                          context.attributes().Ints("inputdimensions", {}));
  const int count = context.input_count();
  if (!widths.empty()) {
    ENCORE_RETURN_IF_ERROR(CheckLength("inputdimensions", widths.size(), count,
                                       "the number of inputs"));
  }
  std::vector<Value> parts;
  for (int i = 0; i < count; ++i) {
    const Value x = context.Input(i);
    int64_t width = 0;
    if (!widths.empty()) {
      width = widths[i];
    } else if (x.rank() > 0 && x.shape()[x.rank() - 1].is_constant()) {
      width = x.shape()[x.rank() - 1].constant();
    } else {
      return NodeContext::Error(
          StrCat("attribute inputdimensions is missing, and input ", i, " is ",
                 x.type()));
    }
    if (width < 0 || width > INT32_MAX) {
      return NodeContext::Error(
          StrCat("attribute inputdimensions has the entry ", width));
    }
    ENCORE_ASSIGN_OR_RETURN(const Value part, FittedRows(context, i, width));
    parts.push_back(part);
  }
  UnifyDimsExcept(context, 1, &parts);
  return context.Output(0, g.Concat(parts, 1));
}

// The values that replace others, as a scalar or along the last axis of `x`.
StatusOr<Value> Replacements(NodeContext& context, Value x,
                             std::string_view name, const Literal& values) {
  GraphBuilder& g = context.builder();
  const int64_t count = values.element_count();
  const bool single = count == 1 || x.rank() == 0;
  const Dim width = single ? Dim(1) : x.shape()[x.rank() - 1];
  if (count == 0 || (x.rank() == 0 && count != 1) ||
      (!single && width.is_constant() && width.constant() != count)) {
    return NodeContext::Error(
        StrCat("attribute ", name, " has ", count,
               " entries, expected 1 or one for each feature of ", x.type()));
  }
  const Value all = g.Cast(g.Constant(values), x.dtype());
  return single ? context.Reshape(all, {}) : all;
}

Status Imputer(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  AttributeReader& attributes = context.attributes();
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const std::vector<float> floats,
                          attributes.Floats("imputed_value_floats"));
  ENCORE_ASSIGN_OR_RETURN(const Ints ints,
                          attributes.Ints("imputed_value_int64s", {}));
  ENCORE_ASSIGN_OR_RETURN(const float old_float,
                          attributes.Float("replaced_value_float", 0));
  ENCORE_ASSIGN_OR_RETURN(const int64_t old_int,
                          attributes.Int("replaced_value_int64", 0));
  const bool of_floats = IsFloat(x.dtype());
  const std::string_view name =
      of_floats ? "imputed_value_floats" : "imputed_value_int64s";
  if (of_floats ? !ints.empty() : !floats.empty()) {
    return NodeContext::Error(
        StrCat("attribute ",
               of_floats ? "imputed_value_int64s" : "imputed_value_floats",
               " is given, expected ", name, " for ", x.dtype()));
  }
  const Literal values = of_floats ? Literal::Vector<float>(floats)
                                   : Literal::Vector<int64_t>(ints);
  ENCORE_ASSIGN_OR_RETURN(const Value filled,
                          Replacements(context, x, name, values));
  Value missing;
  if (of_floats && std::isnan(old_float)) {
    missing = g.IsNan(x);
  } else if (of_floats) {
    missing = g.Compare(x, old_float, Comparison::kEq);
  } else {
    missing = g.Compare(g.Cast(x, DType::kI64), old_int, Comparison::kEq);
  }
  return context.Output(0,
                        g.Select(missing, g.BroadcastTo(filled, x.shape()), x));
}

// Rows, of a vector that is one, over their largest element, the sum of their
// magnitudes, or the root of that of their squares; as they are where that is
// 0.
Status Normalizer(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const std::string norm,
                          context.attributes().String("norm", "MAX"));
  const Value x = AsFloat(g, context.Input(0));
  if (x.rank() < 1) return NodeContext::Error("input X is a scalar");
  const int64_t axis = x.rank() - 1;
  Value size;
  if (norm == "MAX") {
    size = g.Reduce(x, Combiner::kMax, {axis}, /*keep_dims=*/true);
  } else if (norm == "L1") {
    size = g.Sum(g.Abs(x), {axis}, /*keep_dims=*/true);
  } else if (norm == "L2") {
    size = g.Sqrt(g.Sum(g.Mul(x, x), {axis}, /*keep_dims=*/true));
  } else {
    return NodeContext::Error(
        StrCat("attribute norm is ", Quote(norm), ", expected MAX, L1 or L2"));
  }
  const Value divisor =
      g.Select(g.Compare(size, 0.0, Comparison::kEq), 1.0, size);
  return context.Output(0, g.Div(x, divisor));
}

Status Scaler(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  const Value input = context.Input(0);
  // What is small beside an offset must not be lost before it is taken off.
  const DType dtype = input.dtype() == DType::kF32 ? DType::kF32 : DType::kF64;
  const Value x = input.dtype() == dtype ? input : g.Cast(input, dtype);
  Value result = x;
  for (const std::string_view name : {"offset", "scale"}) {
    if (!context.attributes().Has(name)) continue;
    ENCORE_ASSIGN_OR_RETURN(const std::vector<float> numbers,
                            context.attributes().Floats(name));
    ENCORE_ASSIGN_OR_RETURN(
        const Value values,
        Replacements(context, x, name, Literal::Vector<float>(numbers)));
    result = name == "offset" ? g.Sub(result, values) : g.Mul(result, values);
  }
  return context.Output(0, AsFloat(g, result));
}

constexpr Converter kConverters[] = {
    {"ai.onnx.ml.ArrayFeatureExtractor", ArrayFeatureExtractor, Op::kGather},
    {"ai.onnx.ml.Binarizer", Binarizer, Op::kCompare},
    {"ai.onnx.ml.FeatureVectorizer", FeatureVectorizer, Op::kConcat},
    {"ai.onnx.ml.Imputer", Imputer, Op::kSelect},
    {"ai.onnx.ml.Normalizer", Normalizer, Op::kDiv},
    {"ai.onnx.ml.Scaler", Scaler, Op::kMul},
};

}  // namespace

std::span<const Converter> FeatureConverters() { return kConverters; }

}  // namespace encore::onnx
