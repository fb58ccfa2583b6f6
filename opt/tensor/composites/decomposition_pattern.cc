#include "encore/opt/tensor/composites/decomposition_pattern.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/transform/decompose.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/literal.h"

namespace encore::opt {
namespace {

// The composite of scalars of f64, whose constants have all digits.
StatusOr<Graph> DecomposedScalars(const TextRule& rule) {
  const RuleTerm& composite = rule.terms[rule.left[0].term];
  Attributes attributes;
  if (const auto* values = std::get_if<Attributes>(&composite.attributes)) {
    attributes = *values;
  } else if (!std::holds_alternative<std::monostate>(composite.attributes)) {
    return InvalidArgumentError(
        StrCat("rule ", rule.name,
               ": a decomposition is a pattern where attributes are numbers"));
  }
  if (!Info(composite.op).has(kElementwise)) {
    return InvalidArgumentError(
        StrCat("rule ", rule.name, ": the decomposition of ", composite.op,
               ", which is not elementwise, is no pattern"));
  }
  GraphBuilder g;
  std::vector<Value> operands;
  for (const uint32_t operand : composite.operands) {
    operands.push_back(
        g.Input(rule.terms[operand].variable, {DType::kF64, {}}));
  }
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> results,
                          Decompose(g, composite.op, attributes, operands));
  return g.Build({{"y", results[0]}});
}

// Writes a graph of scalars as terms.
class Pattern {
 public:
  Pattern(const Graph& graph, TextRule* rule) : graph_(graph), rule_(*rule) {}

  // A term of its own for each use. Nests as deep as the op table's
  // decompositions.
  uint32_t Add(ValueId value) {
    const NodeId node = graph_.producer(value);
    RuleTerm term;
    if (graph_.op(node) == Op::kInput) {
      term.variable = graph_.argument(value)->name;
    } else if (graph_.op(node) == Op::kConstant) {
      term.variable = ConstantOf(node);
    } else {
      term.op = graph_.op(node);
      if (Info(term.op).attributes != AttrsIndex::kNone) {
        term.attributes = graph_.attributes(node);
      }
      for (const ValueId operand : graph_.operands(node)) {
        term.operands.push_back(Add(operand));
      }
    }
    rule_.terms.push_back(std::move(term));
    return static_cast<uint32_t>(rule_.terms.size() - 1);
  }

 private:
  // The variable that a guard says is that constant.
  std::string ConstantOf(NodeId node) {
    const double number =
        graph_.attributes(node).Get<ConstantAttrs>().value.AsDouble(0);
    for (const RuleClause& clause : rule_.clauses) {
      if (clause.call.arguments[1].value() == number) {
        return clause.call.arguments[0].name;
      }
    }
    std::string name = StrCat("c", rule_.clauses.size());
    RuleCall is{.function = "is", .arguments = {{.name = name}, {}}};
    RuleArgument& argument = is.arguments[1];
    if (std::trunc(number) == number) {
      argument.kind = RuleArgument::Kind::kInteger;
      argument.integer = static_cast<int64_t>(number);
    } else {
      argument.kind = RuleArgument::Kind::kNumber;
      argument.number = number;
    }
    rule_.clauses.push_back({.results = {}, .call = std::move(is)});
    return name;
  }

  const Graph& graph_;
  TextRule& rule_;
};

}  // namespace

std::vector<Op> OpsOfDecomposition(const TextRule& rule) {
  const RuleTerm& composite = rule.terms[rule.left[0].term];
  Attributes attributes = DefaultAttributes(Info(composite.op).attributes);
  if (const auto* values = std::get_if<Attributes>(&composite.attributes)) {
    attributes = *values;
  }
  // Narrow floats are computed in wide ones, between casts.
  GraphBuilder g;
  std::vector<Value> operands;
  for (size_t i = 0; i < composite.operands.size(); ++i) {
    operands.push_back(g.Input(StrCat(i), {DType::kF16, {2, 2}}));
  }
  const auto results = Decompose(g, composite.op, attributes, operands);
  if (!results.ok()) return {};
  const auto graph = g.Build({{"y", results->front()}});
  if (!graph.ok()) return {};
  std::set<Op> ops;
  for (const NodeId node : Nodes(*graph)) ops.insert(graph->op(node));
  return {ops.begin(), ops.end()};
}

StatusOr<TextRule> RecognitionOf(const TextRule& rule) {
  ENCORE_ASSIGN_OR_RETURN(const Graph graph, DecomposedScalars(rule));
  TextRule back = rule;
  back.terms.clear();
  const RuleTerm& composite = rule.terms[rule.left[0].term];
  RuleTerm right = composite;
  right.operands.clear();
  for (const uint32_t operand : composite.operands) {
    right.operands.push_back(static_cast<uint32_t>(back.terms.size()));
    back.terms.push_back(rule.terms[operand]);
  }
  back.terms.push_back(std::move(right));
  back.right = {
      {.name = "", .term = static_cast<uint32_t>(back.terms.size() - 1)}};
  back.left = {{.name = "",
                .term = Pattern(graph, &back).Add(graph.outputs()[0].value)}};
  return back;
}

}  // namespace encore::opt
