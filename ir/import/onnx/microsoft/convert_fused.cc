// Activations with a bias, and products and convolutions with what follows
// them.

#include <algorithm>
#include <string>
#include <utility>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/microsoft/standard_calls.h"
#include "encore/ir/import/onnx/shapes/unify_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// x and the bias that is its last dim's, input 1, where there is one.
StatusOr<Value> Biased(NodeContext& context) {
  const Value x = context.Input(0);
  if (!context.HasInput(1)) return x;
  const Value bias = context.Input(1);
  if (bias.rank() != 1) {
    return NodeContext::Error(
        StrCat("the bias, input 1, is ", bias.type(), ", expected a vector"));
  }
  const std::vector<Value> terms = BroadcastAll(context, {x, bias});
  return context.builder().Add(terms[0], terms[1]);
}

template <bool kTanh>
Status Gelu(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 2));
  ENCORE_ASSIGN_OR_RETURN(const Value x, Biased(context));
  return context.Output(0, context.builder().Gelu(x, kTanh));
}

Status QuickGelu(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const float alpha,
                          context.attributes().Float("alpha", 1.702f));
  const Value x = context.Input(0);
  return context.Output(0, g.Mul(x, g.Logistic(g.Mul(x, alpha))));
}

// `x` as an operand of the product: its batch dims before its first one, and
// then its last two exchanged, where the attributes say so.
StatusOr<Value> Transposed(NodeContext& context, Value x,
                           std::string_view matrix, std::string_view batch) {
  ENCORE_ASSIGN_OR_RETURN(const bool swaps,
                          context.attributes().Bool(matrix, false));
  ENCORE_ASSIGN_OR_RETURN(const bool rotates,
                          context.attributes().Bool(batch, false));
  const int rank = x.rank();
  if (rotates && rank < 3) {
    return NodeContext::Error(StrCat("attribute ", batch, " is 1 for ",
                                     x.type(), ", expected at least 3 dims"));
  }
  Ints order = AxesFrom(0, rank);
  if (rotates) std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (swaps && rank > 1) std::swap(order[rank - 2], order[rank - 1]);
  return context.builder().Transpose(x, std::move(order));
}

Status FusedMatMul(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  ENCORE_ASSIGN_OR_RETURN(const float alpha,
                          context.attributes().Float("alpha", 1));
  ENCORE_ASSIGN_OR_RETURN(const Value a, Transposed(context, context.Input(0),
                                                    "transA", "transBatchA"));
  ENCORE_ASSIGN_OR_RETURN(const Value b, Transposed(context, context.Input(1),
                                                    "transB", "transBatchB"));
  const Value y = MatMul(context, a, b);
  return context.Output(0, context.builder().Mul(y, alpha));
}

// `y` through the activation that FusedConv names, with its parameters.
StatusOr<Value> Activated(NodeContext& context, Value y) {
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const std::string name,
                          context.attributes().String("activation", ""));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<float> parameters,
                          context.attributes().Floats("activation_params"));
  if (!context.attributes().Has("activation")) return y;
  const size_t count = name == "LeakyRelu"                       ? 1
                       : name == "Clip" || name == "HardSigmoid" ? 2
                                                                 : 0;
  if (parameters.size() < count) {
    return NodeContext::Error(StrCat("attribute activation_params has ",
                                     parameters.size(), " entries, expected ",
                                     count));
  }
  if (name == "Relu") return g.Relu(y);
  if (name == "Sigmoid") return g.Logistic(y);
  if (name == "Tanh") return g.Tanh(y);
  if (name == "HardSwish") return g.HardSwish(y);
  if (name == "LeakyRelu") return g.LeakyRelu(y, parameters[0]);
  if (name == "Clip") return g.Clamp(y, parameters[0], parameters[1]);
  if (name == "HardSigmoid") {
    return g.HardSigmoid(y, parameters[0], parameters[1]);
  }
  return UnimplementedError(
      StrCat("attribute activation is ", Quote(name),
             ", expected Relu, Sigmoid, Tanh, LeakyRelu, Clip, HardSigmoid or "
             "HardSwish"));
}

Status FusedConv(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 4));
  StandardCalls standard(context);
  ENCORE_ASSIGN_OR_RETURN(
      Value y,
      standard.Call(
          "Conv",
          {context.Input(0), context.Input(1), OptionalInput(context, 2)},
          standard.Own({"auto_pad", "dilations", "group", "kernel_shape",
                        "pads", "strides"})));
  if (context.HasInput(3)) {
    const std::vector<Value> terms =
        BroadcastAll(context, {y, context.Input(3)});
    y = context.builder().Add(terms[0], terms[1]);
  }
  ENCORE_ASSIGN_OR_RETURN(y, Activated(context, y));
  return context.Output(0, y);
}

// The activations that FusedGemm may have, and their attributes, which it has
// as activation_alpha and so on.
struct GemmActivation {
  std::string_view name, attributes;
};
constexpr GemmActivation kGemmActivations[] = {
    {"Celu", "alpha"},
    {"Elu", "alpha"},
    {"HardSigmoid", "alpha beta"},
    {"LeakyRelu", "alpha"},
    {"ParametricSoftplus", "alpha beta"},
    {"Relu", ""},
    {"ScaledTanh", "alpha beta"},
    {"Selu", "alpha gamma"},
    {"Sigmoid", ""},
    {"Softplus", ""},
    {"Softsign", ""},
    {"Tanh", ""},
    {"ThresholdedRelu", "alpha"},
};

// The attributes under the activation's own names; it must have all of them.
StatusOr<NodeAttributes> ActivationAttributes(
    NodeContext& context, const GemmActivation& activation) {
  NodeAttributes attributes;
  for (const std::string_view name : {"alpha", "beta", "gamma"}) {
    const std::string own = StrCat("activation_", name);
    ENCORE_ASSIGN_OR_RETURN(const float value,
                            context.attributes().Float(own, 0));
    if (activation.attributes.find(name) == std::string_view::npos) continue;
    if (!context.attributes().Has(own)) {
      return NodeContext::Error(StrCat("attribute ", own, " is missing"));
    }
    attributes.push_back(FloatAttr(name, value));
  }
  return attributes;
}

// Those of opset 1 that became functions of others are written out.
StatusOr<Value> Activated(NodeContext& context, Value x, std::string_view name,
                          const NodeAttributes& attributes) {
  GraphBuilder& g = context.builder();
  if (name == "ScaledTanh") {
    return g.Mul(g.Tanh(g.Mul(x, attributes[1].f)), attributes[0].f);
  }
  if (name == "ParametricSoftplus") {
    return g.Mul(g.Softplus(g.Mul(x, attributes[1].f)), attributes[0].f);
  }
  return StandardCalls(context).Call(name, {x}, attributes);
}

Status FusedGemm(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 3));
  ENCORE_ASSIGN_OR_RETURN(const std::string name,
                          context.attributes().String("activation", ""));
  const auto activation =
      std::ranges::find(kGemmActivations, name, &GemmActivation::name);
  if (activation == std::end(kGemmActivations)) {
    return UnimplementedError(
        StrCat("attribute activation is ", Quote(name),
               ", expected Celu, Elu, HardSigmoid, LeakyRelu, Relu, Selu, "
               "Sigmoid, Softplus, ParametricSoftplus, Softsign, Tanh, "
               "ScaledTanh or ThresholdedRelu"));
  }
  ENCORE_ASSIGN_OR_RETURN(const NodeAttributes attributes,
                          ActivationAttributes(context, *activation));
  StandardCalls standard(context);
  ENCORE_ASSIGN_OR_RETURN(
      const Value product,
      standard.Call(
          "Gemm",
          {context.Input(0), context.Input(1), OptionalInput(context, 2)},
          standard.Own({"alpha", "beta", "transA", "transB"})));
  ENCORE_ASSIGN_OR_RETURN(const Value y,
                          Activated(context, product, name, attributes));
  return context.Output(0, y);
}

constexpr Converter kConverters[] = {
    {"com.microsoft.BiasGelu", Gelu<false>, Op::kGelu},
    {"com.microsoft.FastGelu", Gelu<true>, Op::kGelu},
    {"com.microsoft.FusedConv", FusedConv, Op::kConvolution},
    {"com.microsoft.FusedGemm", FusedGemm, Op::kDotGeneral},
    {"com.microsoft.FusedMatMul", FusedMatMul, Op::kDotGeneral},
    {"com.microsoft.Gelu", Gelu<false>, Op::kGelu},
    {"com.microsoft.QuickGelu", QuickGelu, Op::kLogistic},
};

}  // namespace

std::span<const Converter> FusedConverters() { return kConverters; }

}  // namespace encore::onnx
