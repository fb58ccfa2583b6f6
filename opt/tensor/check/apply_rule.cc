#include "encore/opt/tensor/check/apply_rule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/match/rule.h"
#include "encore/opt/egraph/run/dag_cost.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/tensor/coded/apply_coded_rules.h"
#include "encore/opt/tensor/rule_compiler.h"
#include "encore/opt/tensor/tensor_egraph.h"
#include "encore/opt/tensor/tensor_program.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

// Nodes that were made and are well-typed under some sizes only, which those
// of the graph do not ask for; empty where there are none.
std::string OpenSizes(const Graph& graph, const TensorProgram& program,
                      const TensorEGraph& tensors) {
  std::vector<Dim> before;
  for (uint32_t n = 0; n < tensors.graph().node_limit(); ++n) {
    const eg::NodeId node(n);
    if (!tensors.graph().live(node)) continue;
    std::vector<Dim> open;
    if (const Status status = tensors.CheckTypes(node, &open); !status.ok()) {
      return Message(status);
    }
    if (n < program.node_limit()) {
      before.insert(before.end(), open.begin(), open.end());
      continue;
    }
    for (const Dim& dim : open) {
      if (std::ranges::find(before, dim) != before.end()) continue;
      return StrCat("a node needs ", dim.ToString(graph.symbols()), " > 0");
    }
  }
  return "";
}

// The graph with what the rule made in place of the left sides.
StatusOr<Graph> GraphAfter(const Graph& graph, const TensorProgram& program,
                           const TensorEGraph& tensors) {
  const std::vector<eg::ClassId> classes = program.Roots();
  // A class has the number of the node that it was made with.
  const auto cost = [&](const eg::EGraph&, eg::NodeId node) {
    if (node.value() >= program.node_limit()) return 0.0;
    if (tensors.op(node).kind != TensorOp::Kind::kOp) return 0.0;
    const bool is_root = std::ranges::any_of(
        classes, [&](eg::ClassId c) { return c.value() == node.value(); });
    return is_root ? 1000.0 : 1.0;
  };
  extract::Options options;
  options.work = 20000;
  ENCORE_ASSIGN_OR_RETURN(
      const eg::DagTerms terms,
      eg::DagTerms::Extract(tensors.graph(), classes, options, cost));
  Graph to(graph.name());
  for (const Symbol& symbol : graph.symbols()) {
    ENCORE_RETURN_IF_ERROR(to.AddSymbol(symbol).status());
  }
  return program.Rebuild(
      [&](eg::ClassId c) { return terms.best(c).value_or(eg::NodeId()); },
      std::move(to),
      [](NodeId, const Graph&) -> StatusOr<std::vector<Graph>> {
        return std::vector<Graph>();
      });
}

RuleApplication Faulty(std::string fault) {
  return {.fired = true, .fault = std::move(fault), .after = std::nullopt};
}

// Of a rule that fired, after that many matches.
RuleApplication Applied(const Graph& graph, const TensorProgram& program,
                        const TensorEGraph& tensors, size_t matches) {
  std::string open = OpenSizes(graph, program, tensors);
  if (!open.empty()) return Faulty(std::move(open));
  auto after = GraphAfter(graph, program, tensors);
  if (!after.ok()) return Faulty(Message(after.status()));
  return {.fired = true,
          .fault = "",
          .after = *std::move(after),
          .matches = matches};
}

// Lets one match through: where the first call of a match gives nothing, the
// rest of its actions is skipped.
void ApplyOnly(size_t match, eg::Rule* rule) {
  const auto call =
      std::ranges::find(rule->actions, eg::Action::Kind::kCall,
                        [](const eg::Action& action) { return action.kind; });
  if (call == rule->actions.end()) return;
  call->call = [apply = std::move(call->call), match, number = size_t{0}](
                   eg::EGraph* in, std::span<const eg::Value> slots) mutable
      -> std::optional<eg::Value> {
    return number++ == match ? apply(in, slots) : std::nullopt;
  };
}

}  // namespace

StatusOr<RuleApplication> ApplyRule(const TextRule& rule, const Graph& graph,
                                    std::optional<size_t> match) {
  TensorEGraph tensors(graph.symbols());
  const TensorProgram program(graph, &tensors);
  RuleCount count;
  ENCORE_ASSIGN_OR_RETURN(CompiledRules compiled,
                          CompileRules({&rule, 1}, &tensors, {&count, 1}));
  eg::RuleBook book;
  std::vector<eg::RuleId> ids;
  for (eg::Rule& compiled_rule : compiled.rules) {
    if (match) ApplyOnly(*match, &compiled_rule);
    ids.push_back(book.Add(std::move(compiled_rule)));
  }
  eg::Runner runner(&tensors.graph(), &book);
  const eg::StepReport step = runner.Step(ids);
  if (step.stop == eg::StopReason::kFailed) {
    return Faulty(Message(runner.error()));
  }
  if (step.matches == 0) return RuleApplication();
  RuleApplication application{
      .fault = "", .after = std::nullopt, .matches = step.matches};
  // What the op table makes of a composite is as long as it is.
  const bool decomposition = std::ranges::any_of(
      rule.terms, [](const RuleTerm& term) { return term.decomposition; });
  if (!decomposition &&
      count.nodes > kMostNodesOfAnApplication * step.matches) {
    return Faulty(
        StrCat(step.matches, " applications made ", count.nodes, " nodes"));
  }
  if (count.applications == 0) return application;
  return Applied(graph, program, tensors, step.matches);
}

RuleApplication ApplyCodedRule(std::string_view name, const Graph& graph) {
  TensorEGraph tensors(graph.symbols());
  const TensorProgram program(graph, &tensors);
  eg::RuleBook book;
  CodedRuleSet coded(
      [&](RuleTag, std::string_view rule) { return rule == name; },
      RoundedFloats::kAll);
  coded.Before(&tensors, &book);
  coded.After(&tensors);
  size_t applications = 0;
  for (const auto& [rule, count] : coded.counts()) {
    applications += count.applications;
  }
  if (applications == 0) return RuleApplication();
  return Applied(graph, program, tensors, applications);
}

}  // namespace encore::opt
