#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/index_range.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// What both losses are made of: for each target the negated log-probability of
// its class, times that class's weight.
struct LossParts {
  Value losses;   // [N, d…]
  Value weights;  // the same; invalid where every target counts 1
};

// x[n, indices[n, d…], d…] of x [N, C, d…].
Value TakeClass(GraphBuilder& g, Value x, Value indices, OutOfRange rule) {
  GatherAttrs gather;
  gather.out_of_range = rule;
  for (int i = 0; i < x.rank(); ++i) {
    gather.slice_sizes.push_back(1);
    if (i == 1) continue;
    gather.operand_batching_dims.push_back(i);
    gather.start_indices_batching_dims.push_back(i == 0 ? 0 : i - 1);
  }
  gather.collapsed_slice_dims = {1};
  gather.start_index_map = {1};
  gather.index_vector_dim = indices.rank();
  return g.Gather(x, indices, std::move(gather));
}

StatusOr<LossParts> Losses(NodeContext& context, Value log_probability,
                           Value target, int weight_input) {
  GraphBuilder& g = context.builder();
  if (log_probability.rank() < 2 ||
      target.rank() != log_probability.rank() - 1 ||
      !IsInteger(target.dtype())) {
    return NodeContext::Error(StrCat("input target is ", target.type(),
                                     " for scores ", log_probability.type(),
                                     ", expected classes of [N, d...]"));
  }
  ENCORE_ASSIGN_OR_RETURN(const int64_t ignored,
                          context.attributes().Int("ignore_index", -1));
  const bool ignores = context.attributes().Has("ignore_index");
  if (target.dtype() != DType::kI32) target = g.Cast(target, DType::kI64);
  Value counts;
  if (ignores) counts = g.Compare(target, ignored, Comparison::kNe);
  if (ignores) target = g.Select(counts, target, 0);
  ENCORE_ASSIGN_OR_RETURN(
      const OutOfRange rule,
      RuleForIndices(context, target, log_probability.shape()[1],
                     OutOfRange::kClamp));
  LossParts parts;
  if (context.HasInput(weight_input)) {
    const Value weight = context.Input(weight_input);
    if (weight.rank() != 1) {
      return NodeContext::Error(StrCat("input weight is ", weight.type(),
                                       ", expected one per class"));
    }
    parts.weights = g.Take(weight, target, 0);
    if (ignores) parts.weights = g.Select(counts, parts.weights, 0.0);
  } else if (ignores) {
    parts.weights = g.Cast(counts, log_probability.dtype());
  }
  parts.losses = g.Neg(TakeClass(g, log_probability, target, rule));
  if (!parts.weights.valid()) return parts;
  // Not a product: an infinite loss that is ignored would be NaN.
  const Value weighed = g.Mul(parts.losses, parts.weights);
  parts.losses = ignores ? g.Select(counts, weighed, 0.0) : weighed;
  return parts;
}

StatusOr<Value> Reduced(NodeContext& context, const LossParts& parts) {
  enum class Reduction { kMean, kSum, kNone };
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const Reduction reduction,
                          context.attributes().Word<Reduction>(
                              "reduction", {{"mean", Reduction::kMean},
                                            {"sum", Reduction::kSum},
                                            {"none", Reduction::kNone}}));
  if (reduction == Reduction::kNone) return parts.losses;
  const Ints axes = AxesFrom(0, parts.losses.rank());
  if (reduction == Reduction::kSum) return g.Sum(parts.losses, axes);
  if (!parts.weights.valid()) return g.Mean(parts.losses, axes);
  return g.Div(g.Sum(parts.losses, axes), g.Sum(parts.weights, axes));
}

Status NegativeLogLikelihoodLoss(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 3));
  ENCORE_ASSIGN_OR_RETURN(
      const LossParts parts,
      Losses(context, context.Input(0), context.Input(1), 2));
  ENCORE_ASSIGN_OR_RETURN(const Value loss, Reduced(context, parts));
  return context.Output(0, loss);
}

Status SoftmaxCrossEntropyLoss(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 3));
  const Value scores = context.Input(0);
  if (scores.rank() < 2) {
    return NodeContext::Error(
        StrCat("input scores is ", scores.type(), ", expected [N, C, d...]"));
  }
  const Value log_probability = context.builder().LogSoftmax(scores, 1);
  ENCORE_ASSIGN_OR_RETURN(
      const LossParts parts,
      Losses(context, log_probability, context.Input(1), 2));
  ENCORE_ASSIGN_OR_RETURN(const Value loss, Reduced(context, parts));
  ENCORE_RETURN_IF_ERROR(context.Output(0, loss));
  return context.Output(1, log_probability);
}

constexpr Converter kConverters[] = {
    {"NegativeLogLikelihoodLoss", NegativeLogLikelihoodLoss, Op::kGather},
    {"SoftmaxCrossEntropyLoss", SoftmaxCrossEntropyLoss, Op::kLogSoftmax},
};

}  // namespace

std::span<const Converter> LossConverters() { return kConverters; }

}  // namespace encore::onnx
