#include <cmath>
#include <numbers>

#include "encore/ir/eval/families.h"
#include "encore/ir/eval/numbers.h"

namespace encore::eval {
namespace {

template <typename F>
Results MapFloat(const EvalContext& context, F f) {
  std::vector<double> values = DecodeAll<double>(context.operand(0));
  for (double& value : values) value = f(value);
  return Literals{EncodeAll(context.dtype(), context.dims(), values)};
}

double Logistic(double x) {
  const double e = std::exp(-std::abs(x));
  return x >= 0 ? 1 / (1 + e) : x != x ? x : e / (1 + e);
}

double Softplus(double x) {
  return Larger(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

// max(0, min(1, x)).
double Unit(double x) { return Larger(0.0, Smaller(1.0, x)); }

}  // namespace

Results EvaluateRelu(const EvalContext& context) {
  return WithDomain(context.dtype(), [&](auto wide) -> Results {
    using W = decltype(wide);
    std::vector<W> values = DecodeAll<W>(context.operand(0));
    for (W& value : values) value = Larger(value, W{0});
    return Literals{EncodeAll(context.dtype(), context.dims(), values)};
  });
}

Results EvaluateLeakyRelu(const EvalContext& context) {
  const double alpha = context.attrs<AlphaAttrs>().alpha;
  return MapFloat(context, [alpha](double x) { return x < 0 ? alpha * x : x; });
}

Results EvaluateElu(const EvalContext& context) {
  const double alpha = context.attrs<AlphaAttrs>().alpha;
  return MapFloat(
      context, [alpha](double x) { return x > 0 ? x : alpha * std::expm1(x); });
}

Results EvaluateCelu(const EvalContext& context) {
  const double alpha = context.attrs<AlphaAttrs>().alpha;
  return MapFloat(context, [alpha](double x) {
    return Larger(0.0, x) + Smaller(0.0, alpha * std::expm1(x / alpha));
  });
}

Results EvaluateSelu(const EvalContext& context) {
  const auto [alpha, beta] = context.attrs<AlphaBetaAttrs>();
  return MapFloat(context, [alpha = alpha, beta = beta](double x) {
    return beta * (x > 0 ? x : alpha * std::expm1(x));
  });
}

Results EvaluateGelu(const EvalContext& context) {
  if (context.attrs<GeluAttrs>().tanh) {
    const double scale = std::sqrt(2 / std::numbers::pi);
    return MapFloat(context, [scale](double x) {
      return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x)));
    });
  }
  return MapFloat(context, [](double x) {
    return 0.5 * x * std::erfc(-x * std::numbers::sqrt2 / 2);
  });
}

Results EvaluateSilu(const EvalContext& context) {
  return MapFloat(context, [](double x) { return x * Logistic(x); });
}

Results EvaluateMish(const EvalContext& context) {
  return MapFloat(context, [](double x) { return x * std::tanh(Softplus(x)); });
}

Results EvaluateSoftplus(const EvalContext& context) {
  return MapFloat(context, Softplus);
}

Results EvaluateSoftsign(const EvalContext& context) {
  return MapFloat(context, [](double x) { return x / (1 + std::abs(x)); });
}

Results EvaluateHardSigmoid(const EvalContext& context) {
  const auto [alpha, beta] = context.attrs<AlphaBetaAttrs>();
  return MapFloat(context, [alpha = alpha, beta = beta](double x) {
    return Unit(alpha * x + beta);
  });
}

Results EvaluateHardSwish(const EvalContext& context) {
  return MapFloat(context, [](double x) { return x * Unit(x / 6 + 0.5); });
}

Results EvaluateThresholdedRelu(const EvalContext& context) {
  const double alpha = context.attrs<AlphaAttrs>().alpha;
  return MapFloat(context, [alpha](double x) { return x > alpha ? x : 0; });
}

Results EvaluatePrelu(const EvalContext& context) {
  return WithDomain(context.dtype(), [&](auto wide) -> Results {
    using W = decltype(wide);
    std::vector<W> values = DecodeAll<W>(context.operand(0));
    const std::vector<W> slopes = DecodeAll<W>(context.operand(1));
    for (size_t i = 0; i < values.size(); ++i) {
      if (!(values[i] >= 0)) values[i] = WrapMul(slopes[i], values[i]);
    }
    return Literals{EncodeAll(context.dtype(), context.dims(), values)};
  });
}

Results EvaluateClamp(const EvalContext& context) {
  return WithDomain(context.dtype(), [&](auto wide) -> Results {
    using W = decltype(wide);
    std::vector<W> values = DecodeAll<W>(context.operand(0));
    const W low = DecodeAll<W>(context.operand(1))[0];
    const W high = DecodeAll<W>(context.operand(2))[0];
    for (W& value : values) value = Smaller(Larger(value, low), high);
    return Literals{EncodeAll(context.dtype(), context.dims(), values)};
  });
}

}  // namespace encore::eval
