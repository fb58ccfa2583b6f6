#include "encore/backends/conformance/bounds.h"

#include <cmath>
#include <utility>

#include "encore/backends/conformance/fast_convolution.h"
#include "encore/backends/conformance/interval.h"
#include "encore/backends/conformance/interval_control_flow.h"
#include "encore/backends/conformance/interval_ops.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/graph/symbol_binding.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/transform/decompose.h"
#include "encore/ir/transform/specialize.h"

namespace encore::backends {
namespace {

// Evaluates primitives with constant extents on intervals.
class Evaluation {
 public:
  Evaluation(const Graph& graph, const std::optional<FastConvolution>& fast)
      : graph_(graph), fast_(fast), values_(graph.value_count()) {}

  // One interval per output, not yet rounded.
  StatusOr<Intervals> Run(std::span<const Interval> arguments) && {
    for (size_t i = 0; i < arguments.size(); ++i) {
      values_[graph_.arguments()[i].value.value()] = arguments[i];
    }
    for (const NodeId node : Nodes(graph_)) {
      const Op op = graph_.op(node);
      if (op == Op::kInput || op == Op::kParameter) continue;
      ENCORE_ASSIGN_OR_RETURN(Intervals results, Step(node));
      for (size_t i = 0; i < results.size(); ++i) {
        values_[graph_.result(node, static_cast<int>(i)).value()] =
            std::move(results[i]);
      }
    }
    Intervals outputs;
    for (const Graph::Output& output : graph_.outputs()) {
      outputs.push_back(values_[output.value.value()]);
    }
    return outputs;
  }

 private:
  StatusOr<Intervals> Step(NodeId node) {
    Intervals operands;
    for (const ValueId operand : graph_.operands(node)) {
      operands.push_back(MaybeRounded(values_[operand.value()]));
    }
    std::vector<TensorType> types;
    for (int i = 0; i < graph_.result_count(node); ++i) {
      types.push_back(graph_.type(graph_.result(node, i)));
    }
    const Op op = graph_.op(node);
    const Attributes& attributes = graph_.attributes(node);
    if (graph_.bodies(node).empty()) {
      ENCORE_ASSIGN_OR_RETURN(
          Intervals results,
          EvaluateIntervals(op, attributes, operands, types));
      if (fast_ && op == Op::kConvolution && types[0].dtype == DType::kF32 &&
          attributes.Get<ConvolutionAttrs>().feature_groups == 1) {
        results[0] = WithFast(results[0], operands, *fast_);
      }
      return results;
    }
    return EvaluateControlFlow(
        op, attributes, operands, types,
        [&](int i, std::span<const Interval> inputs) {
          return Evaluation(graph_.bodies(node)[i], fast_).Run(inputs);
        });
  }

  const Graph& graph_;
  const std::optional<FastConvolution>& fast_;
  Intervals values_;
};

std::optional<std::string> HostDifference(const Literal& actual,
                                          const Bounds& bounds) {
  const std::vector<Literal>& expected = bounds.expected.elements();
  if (actual.elements().size() != expected.size()) {
    return StrCat(actual.elements().size(), " elements, expected ",
                  expected.size());
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto difference = Difference(
        actual.elements()[i],
        {expected[i], bounds.low.elements()[i], bounds.high.elements()[i]});
    if (difference) return StrCat("element ", i, ": ", *difference);
  }
  return std::nullopt;
}

bool IsWithin(double value, double low, double high) {
  if (IsUnknown(low, high)) return true;
  if (std::isnan(low)) return std::isnan(value);
  return low <= value && value <= high;
}

// The evaluator's outputs, and the graph as it is for these arguments: without
// symbols and composites.
StatusOr<std::vector<Literal>> EvaluateAndBind(
    const Graph& graph, std::span<const Literal> arguments, Graph* primitives) {
  SymbolBinding binding(graph.symbols());
  EvaluateOptions options;
  options.on_node = [&](NodeId node, std::span<const Literal> results) {
    for (size_t i = 0; i < results.size(); ++i) {
      ENCORE_RETURN_IF_ERROR(binding.Bind(
          "result", graph.shape(graph.result(node, static_cast<int>(i))),
          results[i].dims()));
    }
    return OkStatus();
  };
  ENCORE_ASSIGN_OR_RETURN(auto expected, Evaluate(graph, arguments, options));
  ENCORE_ASSIGN_OR_RETURN(const Graph constant,
                          Specialize(graph, binding.replacements()));
  ENCORE_ASSIGN_OR_RETURN(*primitives,
                          DecomposeAll(constant, {.simplify = false}));
  return expected;
}

}  // namespace

StatusOr<std::vector<Bounds>> EvaluateBounds(
    const Graph& graph, std::span<const Literal> arguments,
    const std::optional<FastConvolution>& fast) {
  Graph primitives;
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Literal> expected,
                          EvaluateAndBind(graph, arguments, &primitives));
  Intervals inputs;
  for (const Literal& argument : arguments) inputs.push_back(Exactly(argument));
  ENCORE_ASSIGN_OR_RETURN(const Intervals outputs,
                          Evaluation(primitives, fast).Run(inputs));
  std::vector<Bounds> bounds;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!IsFloat(outputs[i].dtype) && !outputs[i].exact) {
      return UnimplementedError(
          StrCat("output ", i, " depends on how floats are rounded"));
    }
    const Interval rounded = Rounded(outputs[i]);
    bounds.push_back({expected[i], rounded.low, rounded.high});
    if (const auto difference = Difference(expected[i], bounds[i])) {
      return InternalError(StrCat("output ", i,
                                  ": the evaluator's result is outside of the "
                                  "bounds: ",
                                  *difference));
    }
  }
  return bounds;
}

std::vector<Literal> Expected(std::span<const Bounds> bounds) {
  std::vector<Literal> expected;
  for (const Bounds& output : bounds) expected.push_back(output.expected);
  return expected;
}

std::optional<std::string> Difference(const Literal& actual,
                                      const Bounds& bounds) {
  const Literal& expected = bounds.expected;
  if (actual.type() != expected.type()) {
    return StrCat("type ", actual.type(), ", expected ", expected.type());
  }
  if (expected.kind() != ValueKind::kTensor) {
    return HostDifference(actual, bounds);
  }
  if (IsString(expected.dtype())) {
    if (actual == expected) return std::nullopt;
    return "other strings";
  }
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    if (!IsFloat(expected.dtype())) {
      if (actual.AsInt(i) == expected.AsInt(i)) continue;
      return StrCat("element ", i, " is ", actual.AsInt(i), ", expected ",
                    expected.AsInt(i));
    }
    const double value = actual.AsDouble(i);
    const double low = bounds.low.AsDouble(i), high = bounds.high.AsDouble(i);
    if (IsWithin(value, low, high)) continue;
    return StrCat("element ", i, " is ", value, ", expected ",
                  expected.AsDouble(i), " (", low, " to ", high, ")");
  }
  return std::nullopt;
}

std::optional<std::string> Difference(std::span<const Literal> actual,
                                      std::span<const Bounds> bounds) {
  for (size_t i = 0; i < bounds.size(); ++i) {
    const auto difference = Difference(actual[i], bounds[i]);
    if (difference) return StrCat("output ", i, ": ", *difference);
  }
  return std::nullopt;
}

}  // namespace encore::backends
