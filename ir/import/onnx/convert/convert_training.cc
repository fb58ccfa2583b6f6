// The domain ai.onnx.preview.training: derivatives, and optimizers that take
// one step for any number of tensors.

#include <cmath>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/transform/grad.h"

namespace encore::onnx {
namespace {

// Learning rate and step count, and per tensor `kinds` operands, kind by kind:
// values, gradients, then states.
struct Optimizer {
  Value rate, step;
  int count = 0;
  float norm = 0;

  // Gradient of tensor i with that of norm / 2 * |x|^2.
  Value Gradient(NodeContext& context, int i) const {
    GraphBuilder& g = context.builder();
    const Value x = Operand(context, 0, i);
    return g.Add(g.Mul(x, norm), Operand(context, 1, i));
  }
  Value Operand(NodeContext& context, int kind, int i) const {
    return context.Input(2 + kind * count + i);
  }
};

StatusOr<Optimizer> ReadOptimizer(NodeContext& context, int kinds) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2 + kinds, INT16_MAX));
  GraphBuilder& g = context.builder();
  Optimizer optimizer;
  const int operands = context.input_count() - 2;
  if (operands % kinds != 0) {
    return NodeContext::Error(StrCat(operands, " tensors, expected ", kinds,
                                     " for each that is optimized"));
  }
  optimizer.count = operands / kinds;
  ENCORE_ASSIGN_OR_RETURN(optimizer.norm,
                          context.attributes().Float("norm_coefficient", 0));
  // The rate may be of another type than the tensors, which are of one.
  const DType dtype = context.dtype(context.Input(2));
  optimizer.rate = g.Cast(context.Reshape(context.Input(0), {}), dtype);
  optimizer.step = g.Cast(context.Reshape(context.Input(1), {}), dtype);
  return optimizer;
}

Status Adagrad(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const Optimizer optimizer, ReadOptimizer(context, 3));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const float decay,
                          context.attributes().Float("decay_factor", 0));
  ENCORE_ASSIGN_OR_RETURN(const float epsilon,
                          context.attributes().Float("epsilon", 1e-6f));
  const Value rate =
      g.Div(optimizer.rate, g.Add(g.Mul(optimizer.step, decay), 1.0));
  for (int i = 0; i < optimizer.count; ++i) {
    const Value gradient = optimizer.Gradient(context, i);
    const Value squares =
        g.Add(optimizer.Operand(context, 2, i), g.Mul(gradient, gradient));
    const Value step =
        g.Div(g.Mul(rate, gradient), g.Add(g.Sqrt(squares), epsilon));
    ENCORE_RETURN_IF_ERROR(
        context.Output(i, g.Sub(optimizer.Operand(context, 0, i), step)));
    ENCORE_RETURN_IF_ERROR(context.Output(optimizer.count + i, squares));
  }
  return OkStatus();
}

Status Adam(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const Optimizer optimizer, ReadOptimizer(context, 4));
  GraphBuilder& g = context.builder();
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const float alpha, attributes.Float("alpha", 0.9f));
  ENCORE_ASSIGN_OR_RETURN(const float beta, attributes.Float("beta", 0.999f));
  ENCORE_ASSIGN_OR_RETURN(const float epsilon,
                          attributes.Float("epsilon", 1e-6f));
  ENCORE_ASSIGN_OR_RETURN(const float after,
                          attributes.Float("norm_coefficient_post", 0));
  // From the second step on the averages' bias is taken out.
  const Value step = optimizer.step;
  const auto bias = [&](float decay) {
    return g.Sub(1.0, g.Pow(context.Scalar(step.dtype(), decay), step));
  };
  const Value corrected =
      g.Div(g.Mul(optimizer.rate, g.Sqrt(bias(beta))), bias(alpha));
  const Value rate = g.Select(g.Compare(step, 0.0, Comparison::kGt), corrected,
                              optimizer.rate);
  for (int i = 0; i < optimizer.count; ++i) {
    const Value gradient = optimizer.Gradient(context, i);
    const Value mean = g.Add(g.Mul(optimizer.Operand(context, 2, i), alpha),
                             g.Mul(gradient, 1 - alpha));
    const Value squares = g.Add(g.Mul(optimizer.Operand(context, 3, i), beta),
                                g.Mul(g.Mul(gradient, gradient), 1 - beta));
    const Value change =
        g.Div(g.Mul(rate, mean), g.Add(g.Sqrt(squares), epsilon));
    const Value x =
        g.Mul(g.Sub(optimizer.Operand(context, 0, i), change), 1 - after);
    ENCORE_RETURN_IF_ERROR(context.Output(i, x));
    ENCORE_RETURN_IF_ERROR(context.Output(optimizer.count + i, mean));
    ENCORE_RETURN_IF_ERROR(context.Output(2 * optimizer.count + i, squares));
  }
  return OkStatus();
}

Status Momentum(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const Optimizer optimizer, ReadOptimizer(context, 3));
  GraphBuilder& g = context.builder();
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const float alpha, attributes.Float("alpha", 0));
  ENCORE_ASSIGN_OR_RETURN(const float beta, attributes.Float("beta", 0));
  ENCORE_ASSIGN_OR_RETURN(
      const bool nesterov,
      attributes.Word<bool>("mode", {{"standard", false}, {"nesterov", true}}));
  const Value factor =
      g.Select(g.Compare(optimizer.step, 0.0, Comparison::kGt),
               context.Scalar(optimizer.step.dtype(), beta), 1.0);
  for (int i = 0; i < optimizer.count; ++i) {
    const Value gradient = optimizer.Gradient(context, i);
    const Value momentum = g.Add(g.Mul(optimizer.Operand(context, 2, i), alpha),
                                 g.Mul(gradient, factor));
    const Value step =
        nesterov ? g.Add(gradient, g.Mul(momentum, alpha)) : momentum;
    ENCORE_RETURN_IF_ERROR(context.Output(
        i,
        g.Sub(optimizer.Operand(context, 0, i), g.Mul(optimizer.rate, step))));
    ENCORE_RETURN_IF_ERROR(context.Output(optimizer.count + i, momentum));
  }
  return OkStatus();
}

// The values that an attribute names.
StatusOr<std::vector<Value>> Named(NodeContext& context,
                                   std::string_view attribute) {
  std::vector<Value> values;
  if (!context.attributes().Has(attribute)) return values;
  ENCORE_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          context.attributes().Strings(attribute));
  for (const std::string& name : names) {
    if (context.scope().Find(name) == nullptr) {
      return NodeContext::Error(StrCat("attribute ", attribute, " names ",
                                       Quote(name),
                                       ", which nothing before produces"));
    }
    values.push_back(context.scope().Tensor(name));
  }
  return values;
}

// The derivatives of y by xs, where these and zs have the values of the inputs.
Status Gradient(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, INT16_MAX));
  ENCORE_ASSIGN_OR_RETURN(std::vector<Value> ends, Named(context, "xs"));
  const size_t count = ends.size();
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> others,
                          Named(context, "zs"));
  ends.insert(ends.end(), others.begin(), others.end());
  ENCORE_ASSIGN_OR_RETURN(const std::string y,
                          context.attributes().String("y", ""));
  if (context.scope().Find(y) == nullptr) {
    return NodeContext::Error(StrCat("attribute y names ", Quote(y),
                                     ", which nothing before produces"));
  }
  const std::vector<Value> at = context.Inputs();
  if (at.size() != ends.size()) {
    return NodeContext::Error(StrCat(at.size(), " inputs, expected ",
                                     ends.size(),
                                     ", as the attributes xs and zs name"));
  }
  for (size_t i = 0; i < at.size(); ++i) {
    if (at[i].type() == ends[i].type() &&
        at[i].type().kind == ValueKind::kTensor) {
      continue;
    }
    return NodeContext::Error(StrCat("input ", i, " is ", at[i].type(),
                                     ", expected ", ends[i].type()));
  }
  ENCORE_ASSIGN_OR_RETURN(
      const std::vector<Value> gradients,
      Gradients(context.builder(), context.scope().Tensor(y), ends, at));
  for (size_t i = 0; i < count; ++i) {
    ENCORE_RETURN_IF_ERROR(context.Output(static_cast<int>(i), gradients[i]));
  }
  return OkStatus();
}

constexpr Converter kConverters[] = {
    {"ai.onnx.preview.training.Adagrad", Adagrad, Op::kSqrt},
    {"ai.onnx.preview.training.Adam", Adam, Op::kSqrt},
    {"ai.onnx.preview.training.Gradient", Gradient},
    {"ai.onnx.preview.training.Momentum", Momentum, Op::kMul},
};

}  // namespace

std::span<const Converter> TrainingConverters() { return kConverters; }

}  // namespace encore::onnx
