#include "encore/ir/import/onnx/ml/scores.h"

#include <numbers>
#include <span>
#include <string>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The root of 2 times the inverse error function of 2x - 1, by Winitzki's
// approximation.
Value Probit(GraphBuilder& g, Value x) {
  constexpr double kA = 0.147;
  const Value y = g.Sub(g.Mul(x, 2.0), 1.0);
  const Value log = g.Log(g.Mul(g.Sub(1.0, y), g.Add(y, 1.0)));
  const Value half = g.Add(g.Mul(log, 0.5), 2.0 / (std::numbers::pi * kA));
  const Value root = g.Sqrt(g.Sub(g.Mul(half, half), g.Div(log, kA)));
  const Value size = g.Sqrt(g.Sub(root, half));
  const Value sign =
      g.Select(g.Compare(y, 0.0, Comparison::kLt), g.Neg(size), size);
  return g.Mul(sign, std::numbers::sqrt2);
}

Value SoftmaxZero(GraphBuilder& g, Value scores) {
  constexpr double kZero = 1e-7;
  const Value most = g.Reduce(scores, Combiner::kMax, {1}, /*keep_dims=*/true);
  const Value powers =
      g.Select(g.Compare(g.Abs(scores), kZero, Comparison::kGt),
               g.Exp(g.Sub(scores, most)), g.Mul(scores, g.Exp(g.Neg(most))));
  const Value sum = g.Sum(powers, {1}, /*keep_dims=*/true);
  // Where all are 0, there is nothing to tell the classes apart.
  return g.Select(g.Compare(sum, 0.0, Comparison::kEq), 0.5,
                  g.Div(powers, sum));
}

}  // namespace

StatusOr<PostTransform> ReadPostTransform(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(
      const std::string name,
      context.attributes().String("post_transform", "NONE"));
  if (name == "NONE") return PostTransform::kNone;
  if (name == "SOFTMAX") return PostTransform::kSoftmax;
  if (name == "LOGISTIC") return PostTransform::kLogistic;
  if (name == "SOFTMAX_ZERO") return PostTransform::kSoftmaxZero;
  if (name == "PROBIT") return PostTransform::kProbit;
  return NodeContext::Error(
      StrCat("attribute post_transform is ", Quote(name),
             ", expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT"));
}

StatusOr<Value> Rows(NodeContext& context, DType dtype,
                     std::optional<int64_t> features, std::string_view what) {
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  if (x.rank() < 1 || x.rank() > 2) {
    return NodeContext::Error(
        StrCat("input X is ", x.type(), ", expected [N, F] or [F]"));
  }
  if (x.rank() == 1) x = g.Unsqueeze(x, {0});
  const Dim width = x.shape()[1];
  if (features && width.is_constant() && width.constant() != *features) {
    return context.ShapeMismatch(StrCat("input X is ", x.type(), ", expected ",
                                        *features, " features as ", what,
                                        " says"));
  }
  if (features && !width.is_constant()) {
    x = context.Reshape(x, {x.shape()[0], *features});
  }
  if (x.dtype() != dtype) x = g.Cast(x, dtype);
  ENCORE_RETURN_IF_ERROR(g.status());
  return x;
}

Value Transformed(NodeContext& context, Value scores, PostTransform transform) {
  GraphBuilder& g = context.builder();
  switch (transform) {
    case PostTransform::kNone:
      return scores;
    case PostTransform::kSoftmax:
      return g.Softmax(scores, 1);
    case PostTransform::kLogistic:
      return g.Logistic(scores);
    case PostTransform::kSoftmaxZero:
      return SoftmaxZero(g, scores);
    case PostTransform::kProbit:
      return Probit(g, scores);
  }
  return scores;
}

Value BothClasses(NodeContext& context, Value score, bool complement,
                  PostTransform transform) {
  GraphBuilder& g = context.builder();
  const bool logistic = transform == PostTransform::kLogistic;
  const Value first =
      complement && !logistic ? g.Sub(1.0, score) : g.Neg(score);
  const Value both = g.Concat({first, score}, 1);
  const bool elementwise = logistic || transform == PostTransform::kProbit;
  return elementwise ? Transformed(context, both, transform) : both;
}

StatusOr<Literal> ReadLabels(NodeContext& context, std::string_view ints,
                             std::string_view strings) {
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const Ints numbers, attributes.Ints(ints, {}));
  ENCORE_ASSIGN_OR_RETURN(std::vector<std::string> names,
                          attributes.Strings(strings));
  if (numbers.empty() == names.empty()) {
    return NodeContext::Error(StrCat(
        "attributes ", ints, " and ", strings, " are ",
        names.empty() ? "both empty" : "both given", ", expected one of them"));
  }
  if (names.empty()) {
    return Literal::Vector<int64_t>(std::span(numbers.data(), numbers.size()));
  }
  const auto count = static_cast<int64_t>(names.size());
  return Literal::Strings({count}, std::move(names));
}

Value TopClass(GraphBuilder& g, Value scores) {
  return g.ArgReduce(scores, ArgReduceAttrs{Combiner::kMax, /*axis=*/1});
}

Value LabelsAt(GraphBuilder& g, const Literal& labels, Value numbers) {
  return g.Take(g.Constant(labels), numbers, 0);
}

Status CheckLength(std::string_view what, size_t length, size_t expected,
                   std::string_view as) {
  if (length == expected) return OkStatus();
  return NodeContext::Error(StrCat("attribute ", what, " has ", length,
                                   " entries, expected ", expected, " as ", as,
                                   " says"));
}

Value Matrix(GraphBuilder& g, int64_t rows, int64_t columns,
             const std::vector<float>& values) {
  return g.Constant(Literal::FromValues<float>({rows, columns}, values));
}

}  // namespace encore::onnx
