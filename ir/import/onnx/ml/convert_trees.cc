// ai.onnx.ml: trees of decisions.

#include <algorithm>
#include <set>
#include <span>
#include <string>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/ml/read_trees.h"
#include "encore/ir/import/onnx/ml/scores.h"
#include "encore/ir/import/onnx/ml/tree_ensemble.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

StatusOr<TreeAggregate> ReadAggregate(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(
      const std::string name,
      context.attributes().String("aggregate_function", "SUM"));
  if (name == "AVERAGE") return TreeAggregate::kAverage;
  if (name == "SUM") return TreeAggregate::kSum;
  if (name == "MIN") return TreeAggregate::kMin;
  if (name == "MAX") return TreeAggregate::kMax;
  return NodeContext::Error(StrCat("attribute aggregate_function is ",
                                   Quote(name),
                                   ", expected AVERAGE, SUM, MIN or MAX"));
}

// An attribute that numbers `count` choices.
StatusOr<int64_t> ReadChoice(NodeContext& context, std::string_view name,
                             int64_t fallback, int64_t count) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t choice,
                          context.attributes().Int(name, fallback));
  if (choice >= 0 && choice < count) return choice;
  return NodeContext::Error(StrCat("attribute ", name, " is ", choice,
                                   ", expected 0 to ", count - 1));
}

// The scores plus the attribute base_values, one for each score; where
// `single`, one for the first is enough.
StatusOr<Value> WithBase(NodeContext& context, Value scores, bool single) {
  GraphBuilder& g = context.builder();
  ENCORE_RETURN_IF_ERROR(g.status());
  ENCORE_ASSIGN_OR_RETURN(TreeNumbers base,
                          ReadTreeNumbers(context, "base_values"));
  if (base.values.empty()) return scores;
  const int64_t targets = scores.shape()[1].constant();
  if (single && base.values.size() == 1) base.values.resize(targets);
  ENCORE_RETURN_IF_ERROR(CheckLength("base_values", base.values.size(), targets,
                                     "the number of scores"));
  Literal values(scores.dtype(), {targets});
  for (int64_t i = 0; i < targets; ++i) values.SetDouble(i, base.values[i]);
  return g.Add(scores, g.Constant(std::move(values)));
}

// The scores of input 0, which compares as doubles where it or an attribute is
// of these.
StatusOr<Value> ScoresOf(NodeContext& context, TreeEnsemble* trees) {
  if (context.Input(0).rank() != 2) {
    return NodeContext::Error(
        StrCat("input X is ", context.Input(0).type(), ", expected [N, F]"));
  }
  if (context.Input(0).dtype() == DType::kF64) trees->dtype = DType::kF64;
  ENCORE_ASSIGN_OR_RETURN(const Value x, Rows(context, trees->dtype));
  return TreeScores(context, *trees, x);
}

Value AsDType(GraphBuilder& g, Value x, DType dtype) {
  return x.dtype() == dtype ? x : g.Cast(x, dtype);
}

Status TreeEnsembleV5(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  const DType dtype = context.Input(0).dtype();
  ENCORE_ASSIGN_OR_RETURN(TreeEnsemble trees, ReadTreeEnsemble(context, dtype));
  ENCORE_ASSIGN_OR_RETURN(const int64_t aggregate,
                          ReadChoice(context, "aggregate_function", 1, 4));
  trees.aggregate = static_cast<TreeAggregate>(aggregate);
  ENCORE_ASSIGN_OR_RETURN(const int64_t transform,
                          ReadChoice(context, "post_transform", 0, 5));
  ENCORE_ASSIGN_OR_RETURN(const Value scores, ScoresOf(context, &trees));
  const Value result =
      Transformed(context, scores, static_cast<PostTransform>(transform));
  return context.Output(0, AsDType(g, result, dtype));
}

Status TreeEnsembleRegressor(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const int64_t targets,
                          attributes.Int("n_targets", 0));
  if (attributes.Has("n_targets") && (targets < 1 || targets > INT32_MAX)) {
    return NodeContext::Error(
        StrCat("attribute n_targets is ", targets, ", expected at least 1"));
  }
  ENCORE_ASSIGN_OR_RETURN(
      TreeEnsemble trees,
      ReadTrees(context, "target", targets == 0 ? -1 : targets));
  ENCORE_ASSIGN_OR_RETURN(trees.aggregate, ReadAggregate(context));
  ENCORE_ASSIGN_OR_RETURN(const PostTransform transform,
                          ReadPostTransform(context));
  ENCORE_ASSIGN_OR_RETURN(Value scores, ScoresOf(context, &trees));
  ENCORE_ASSIGN_OR_RETURN(scores, WithBase(context, scores, /*single=*/false));
  return context.Output(
      0, AsDType(g, Transformed(context, scores, transform), DType::kF32));
}

// The targets that leaves vote for.
std::set<int64_t> VotedFor(const TreeEnsemble& trees) {
  std::set<int64_t> targets;
  for (const auto& leaf : trees.leaves) {
    for (const TreeVote& vote : leaf) targets.insert(vote.target);
  }
  return targets;
}

// Whether all votes are for probabilities: none is negative.
bool NoneIsNegative(const TreeEnsemble& trees) {
  return std::ranges::all_of(trees.leaves, [](const auto& leaf) {
    return std::ranges::all_of(
        leaf, [](const TreeVote& vote) { return vote.weight >= 0; });
  });
}

Status TreeEnsembleClassifier(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(
      const Literal labels,
      ReadLabels(context, "classlabels_int64s", "classlabels_strings"));
  ENCORE_ASSIGN_OR_RETURN(TreeEnsemble trees,
                          ReadTrees(context, "class", labels.element_count()));
  ENCORE_ASSIGN_OR_RETURN(const PostTransform transform,
                          ReadPostTransform(context));
  ENCORE_ASSIGN_OR_RETURN(Value scores, ScoresOf(context, &trees));
  const bool two = labels.element_count() == 2;
  ENCORE_ASSIGN_OR_RETURN(scores, WithBase(context, scores, /*single=*/two));
  const std::set<int64_t> voted = VotedFor(trees);
  Value top;
  if (two && voted.size() == 1) {
    // One score for two classes, the second's, whichever it is written to.
    const int64_t at = *voted.begin();
    const bool probabilities = NoneIsNegative(trees);
    const Value score = g.SliceAxis(scores, 1, at, at + 1);
    const Value second =
        g.Compare(score, probabilities ? 0.5 : 0.0, Comparison::kGt);
    top = g.Squeeze(g.Cast(second, DType::kI64), {1});
    scores = at == 0 ? BothClasses(context, score, probabilities, transform)
                     : Transformed(context, scores, transform);
  } else {
    top = TopClass(g, scores);
    scores = Transformed(context, scores, transform);
  }
  ENCORE_RETURN_IF_ERROR(context.Output(0, LabelsAt(g, labels, top)));
  return context.Output(1, AsDType(g, scores, DType::kF32));
}

constexpr Converter kConverters[] = {
    {"ai.onnx.ml.TreeEnsemble", TreeEnsembleV5, Op::kGather},
    {"ai.onnx.ml.TreeEnsembleClassifier", TreeEnsembleClassifier, Op::kGather},
    {"ai.onnx.ml.TreeEnsembleRegressor", TreeEnsembleRegressor, Op::kGather},
};

}  // namespace

std::span<const Converter> TreeConverters() { return kConverters; }

}  // namespace encore::onnx
