// ai.onnx.ml: linear models.

#include <span>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/ml/scores.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// X W^T + b, [N, targets]: the rows of W are the attribute coefficients, b is
// intercepts.
StatusOr<Value> LinearScores(NodeContext& context, int64_t targets) {
  GraphBuilder& g = context.builder();
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const std::vector<float> coefficients,
                          attributes.Floats("coefficients"));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<float> intercepts,
                          attributes.Floats("intercepts"));
  const auto count = static_cast<int64_t>(coefficients.size());
  if (count == 0 || count % targets != 0) {
    return NodeContext::Error(
        StrCat("attribute coefficients has ", count,
               " entries, expected a positive multiple of ", targets,
               ", the number of scores"));
  }
  if (!intercepts.empty()) {
    ENCORE_RETURN_IF_ERROR(CheckLength("intercepts", intercepts.size(), targets,
                                       "the number of scores"));
  }
  const int64_t features = count / targets;
  ENCORE_ASSIGN_OR_RETURN(const Value x, Rows(context, DType::kF32, features,
                                              "attribute coefficients"));
  const Value scores =
      g.DotGeneral(x, Matrix(g, targets, features, coefficients), {{1}, {1}});
  if (intercepts.empty()) return scores;
  return g.Add(scores, g.Constant(Literal::Vector<float>(intercepts)));
}

Status LinearRegressor(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  ENCORE_ASSIGN_OR_RETURN(const int64_t targets,
                          context.attributes().Int("targets", 1));
  if (targets < 1) {
    return NodeContext::Error(
        StrCat("attribute targets is ", targets, ", expected at least 1"));
  }
  ENCORE_ASSIGN_OR_RETURN(const PostTransform transform,
                          ReadPostTransform(context));
  ENCORE_ASSIGN_OR_RETURN(const Value scores, LinearScores(context, targets));
  return context.Output(0, Transformed(context, scores, transform));
}

Status LinearClassifier(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(
      const Literal labels,
      ReadLabels(context, "classlabels_ints", "classlabels_strings"));
  ENCORE_ASSIGN_OR_RETURN(const PostTransform transform,
                          ReadPostTransform(context));
  // How the model was trained makes no difference to its scores.
  context.attributes().Ignore("multi_class");
  ENCORE_ASSIGN_OR_RETURN(const std::vector<float> intercepts,
                          context.attributes().Floats("intercepts"));
  // Two classes may have one score, the second's.
  const int64_t classes = labels.element_count();
  const bool one_score = classes == 2 && intercepts.size() == 1;
  ENCORE_ASSIGN_OR_RETURN(const Value scores,
                          LinearScores(context, one_score ? 1 : classes));
  Value top, result;
  if (one_score) {
    const Value second = g.Compare(scores, 0.0, Comparison::kGt);
    top = g.Squeeze(g.Cast(second, DType::kI64), {1});
    result = BothClasses(context, scores, /*complement=*/true, transform);
  } else {
    top = TopClass(g, scores);
    result = Transformed(context, scores, transform);
  }
  ENCORE_RETURN_IF_ERROR(context.Output(0, LabelsAt(g, labels, top)));
  return context.Output(1, result);
}

constexpr Converter kConverters[] = {
    {"ai.onnx.ml.LinearClassifier", LinearClassifier, Op::kDotGeneral},
    {"ai.onnx.ml.LinearRegressor", LinearRegressor, Op::kDotGeneral},
};

}  // namespace

std::span<const Converter> LinearConverters() { return kConverters; }

}  // namespace encore::onnx
