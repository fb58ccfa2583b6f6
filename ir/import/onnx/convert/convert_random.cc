// Random numbers: reproducible, from the seed that the model gives or else from
// the name of the node.

#include <cmath>
#include <cstring>
#include <numbers>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

StatusOr<int64_t> SeedOf(NodeContext& context) {
  if (context.attributes().Has("seed")) {
    // Dropout's is an integer, the others' a float.
    const StatusOr<int64_t> whole = context.attributes().Int("seed", 0);
    if (whole.ok()) return *whole;
    ENCORE_ASSIGN_OR_RETURN(const float seed,
                            context.attributes().Float("seed", 0));
    uint32_t bits;
    std::memcpy(&bits, &seed, sizeof(bits));
    return static_cast<int64_t>(bits);
  }
  // FNV-1a of the node's name.
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : context.builder().origin()) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return static_cast<int64_t>(hash);
}

Value Uniform(GraphBuilder& g, DType dtype, const Shape& shape, int64_t seed) {
  return g.Node1(Op::kRandom, {}, RandomAttrs{dtype, shape.dims(), seed});
}

// By Box and Muller, from two uniform numbers of which the first is not 0.
Value Normal(GraphBuilder& g, DType dtype, const Shape& shape, int64_t seed) {
  const Value u = g.Sub(1.0, Uniform(g, DType::kF32, shape, seed));
  const Value v = Uniform(g, DType::kF32, shape, ~seed);
  const Value radius = g.Sqrt(g.Mul(g.Log(u), -2.0));
  const Value normal = g.Mul(radius, g.Cos(g.Mul(v, 2 * std::numbers::pi)));
  return g.Cast(normal, dtype);
}

StatusOr<DType> ResultDType(NodeContext& context, DType fallback) {
  if (!context.attributes().Has("dtype")) return fallback;
  ENCORE_ASSIGN_OR_RETURN(const int64_t number,
                          context.attributes().Int("dtype", 1));
  if (number < 0 || number > INT16_MAX) {
    return NodeContext::Error(StrCat("attribute dtype is ", number,
                                     ", expected a TensorProto.DataType"));
  }
  const StatusOr<DType> dtype = DTypeOf(static_cast<int32_t>(number));
  if (!dtype.ok()) return Annotate(dtype.status(), "attribute dtype");
  return dtype;
}

// scale * x + shift, x uniform in [0, 1) or normal.
template <bool kNormal, bool kLike>
Status Random(NodeContext& context) {
  GraphBuilder& g = context.builder();
  AttributeReader& attributes = context.attributes();
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(kLike, kLike));
  Shape shape;
  DType fallback = DType::kF32;
  if (kLike) {
    shape = context.shape(context.Input(0));
    fallback = context.dtype(context.Input(0));
  } else {
    ENCORE_ASSIGN_OR_RETURN(const Ints dims, attributes.RequiredInts("shape"));
    shape = Shape(std::span<const int64_t>(dims));
  }
  ENCORE_ASSIGN_OR_RETURN(const DType dtype, ResultDType(context, fallback));
  ENCORE_ASSIGN_OR_RETURN(const int64_t seed, SeedOf(context));
  ENCORE_ASSIGN_OR_RETURN(const float shift,
                          attributes.Float(kNormal ? "mean" : "low", 0));
  ENCORE_ASSIGN_OR_RETURN(float scale,
                          attributes.Float(kNormal ? "scale" : "high", 1));
  if (!kNormal) scale -= shift;
  const Value x =
      kNormal ? Normal(g, dtype, shape, seed) : Uniform(g, dtype, shape, seed);
  return context.Output(0, g.Add(g.Mul(x, scale), shift));
}

Status Bernoulli(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  const Value p = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const DType dtype, ResultDType(context, p.dtype()));
  ENCORE_ASSIGN_OR_RETURN(const int64_t seed, SeedOf(context));
  const Value drawn = g.Compare(Uniform(g, p.dtype(), context.shape(p), seed),
                                p, Comparison::kLt);
  return context.Output(0,
                        dtype == DType::kBool ? drawn : g.Cast(drawn, dtype));
}

// Classes by the Gumbel-max trick: argmax(log-probability - log(-log u)).
Status Multinomial(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  const Value scores = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const int64_t samples,
                          context.attributes().Int("sample_size", 1));
  ENCORE_ASSIGN_OR_RETURN(const DType dtype, ResultDType(context, DType::kI32));
  ENCORE_ASSIGN_OR_RETURN(const int64_t seed, SeedOf(context));
  if (scores.rank() != 2 || samples < 0 || !IsInteger(dtype)) {
    return NodeContext::Error(
        StrCat("input is ", scores.type(), ", expected [batch, classes]"));
  }
  const Shape shape = {scores.shape()[0], samples, scores.shape()[1]};
  const Value u =
      g.Max(Uniform(g, DType::kF32, shape, seed), std::ldexp(1.0, -25));
  const Value noise = g.Neg(g.Log(g.Neg(g.Log(u))));
  const Value noisy =
      g.Add(g.Unsqueeze(g.Cast(scores, DType::kF32), {1}), noise);
  const Value drawn =
      g.ArgReduce(noisy, {Combiner::kMax, 2, false, DType::kI64});
  return context.Output(0, g.Cast(drawn, dtype));
}

// In training elements are dropped, and the others make up for them.
Status Dropout(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 3));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const int64_t seed, SeedOf(context));
  const Value x = context.Input(0);
  Value kept = g.Full(context.shape(x), g.Constant(Literal::Scalar(true)));
  Value y = x;
  const auto training = context.HasInput(2)
                            ? context.scope().Constant(context.node().inputs[2])
                            : Literal::Scalar(false);
  const bool never = training && training->AsInt(0) == 0;
  if (!never) {
    const Value ratio = context.HasInput(1)
                            ? context.Reshape(context.Input(1), {})
                            : context.Scalar(DType::kF32, 0.5);
    const Value drawn =
        g.Compare(Uniform(g, ratio.dtype(), context.shape(x), seed), ratio,
                  Comparison::kGe);
    const Value scale = g.Div(1.0, g.Sub(1.0, ratio));
    Value dropped = g.Select(drawn, g.Mul(x, g.Cast(scale, x.dtype())), 0.0);
    if (!training) {
      const Value on = context.Reshape(context.Input(2), {});
      dropped = g.Select(on, dropped, x);
      kept = g.Or(drawn, g.Not(on));
    } else {
      kept = drawn;
    }
    y = dropped;
  }
  ENCORE_RETURN_IF_ERROR(context.Output(0, y));
  return context.Output(1, kept);
}

constexpr Converter kConverters[] = {
    {"Bernoulli", Bernoulli, Op::kRandom},
    {"Dropout", Dropout},
    {"Multinomial", Multinomial, Op::kRandom},
    {"RandomNormal", Random<true, false>, Op::kRandom},
    {"RandomNormalLike", Random<true, true>, Op::kRandom},
    {"RandomUniform", Random<false, false>, Op::kRandom},
    {"RandomUniformLike", Random<false, true>, Op::kRandom},
};

}  // namespace

std::span<const Converter> RandomConverters() { return kConverters; }

}  // namespace encore::onnx
