#include <cmath>
#include <numbers>

#include "encore/ir/transform/decompositions.h"

namespace encore::ops {
namespace {

// ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|), which never overflows.
Value StableSoftplus(GraphBuilder& g, Value x) {
  return g.Add(g.Max(x, 0), g.Log1p(g.Exp(g.Neg(g.Abs(x)))));
}

// max(0, min(1, x)).
Value Unit(GraphBuilder& g, Value x) { return g.Max(g.Min(x, 1), 0); }

// x where x > 0, else alpha * (e^x - 1).
Value ExponentialBelowZero(GraphBuilder& g, Value x, double alpha) {
  return g.Select(g.Compare(x, 0, Comparison::kGt), x,
                  g.Mul(g.Expm1(x), alpha));
}

}  // namespace

Value DecomposeRelu(const DecomposeContext& context) {
  return context.g.Max(context.operands[0], 0);
}

Value DecomposeLeakyRelu(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const Value x = context.wide();
  const double alpha = context.attrs<AlphaAttrs>().alpha;
  return context.Narrow(
      g.Select(g.Compare(x, 0, Comparison::kLt), g.Mul(x, alpha), x));
}

Value DecomposeElu(const DecomposeContext& context) {
  return context.Narrow(ExponentialBelowZero(
      context.g, context.wide(), context.attrs<AlphaAttrs>().alpha));
}

Value DecomposeCelu(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const Value x = context.wide();
  const double alpha = context.attrs<AlphaAttrs>().alpha;
  const Value below = g.Mul(g.Expm1(g.Div(x, alpha)), alpha);
  return context.Narrow(g.Add(g.Max(x, 0), g.Min(below, 0)));
}

Value DecomposeSelu(const DecomposeContext& context) {
  const AlphaBetaAttrs& attrs = context.attrs<AlphaBetaAttrs>();
  const Value elu =
      ExponentialBelowZero(context.g, context.wide(), attrs.alpha);
  return context.Narrow(context.g.Mul(elu, attrs.beta));
}

Value DecomposeGelu(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const Value x = context.wide();
  Value inner;
  if (context.attrs<GeluAttrs>().tanh) {
    const Value cube = g.Mul(g.Mul(x, x), x);
    inner = g.Tanh(g.Mul(g.Add(x, g.Mul(cube, 0.044715)),
                         std::sqrt(2 / std::numbers::pi)));
  } else {
    inner = g.Erf(g.Mul(x, std::numbers::sqrt2 / 2));
  }
  return context.Narrow(g.Mul(g.Mul(x, 0.5), g.Add(inner, 1)));
}

Value DecomposeSilu(const DecomposeContext& context) {
  const Value x = context.wide();
  return context.Narrow(context.g.Mul(x, context.g.Logistic(x)));
}

Value DecomposeMish(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const Value x = context.wide();
  return context.Narrow(g.Mul(x, g.Tanh(StableSoftplus(g, x))));
}

Value DecomposeSoftplus(const DecomposeContext& context) {
  return context.Narrow(StableSoftplus(context.g, context.wide()));
}

Value DecomposeSoftsign(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const Value x = context.wide();
  return context.Narrow(g.Div(x, g.Add(g.Abs(x), 1)));
}

Value DecomposeHardSigmoid(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const AlphaBetaAttrs& attrs = context.attrs<AlphaBetaAttrs>();
  return context.Narrow(
      Unit(g, g.Add(g.Mul(context.wide(), attrs.alpha), attrs.beta)));
}

Value DecomposeHardSwish(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const Value x = context.wide();
  return context.Narrow(g.Mul(x, Unit(g, g.Add(g.Div(x, 6), 0.5))));
}

Value DecomposeThresholdedRelu(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const Value x = context.wide();
  const double alpha = context.attrs<AlphaAttrs>().alpha;
  return context.Narrow(g.Select(g.Compare(x, alpha, Comparison::kGt), x, 0));
}

Value DecomposePrelu(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const Value x = context.operands[0];
  return g.Select(g.Compare(x, 0, Comparison::kGe), x,
                  g.Mul(x, context.operands[1]));
}

Value DecomposeClamp(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  return g.Min(g.Max(context.operands[0], context.operands[1]),
               context.operands[2]);
}

}  // namespace encore::ops
