#include "encore/opt/tensor/find/derivable.h"

#include <string_view>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/egraph/run/schedulers.h"
#include "encore/opt/tensor/coded/apply_coded_rules.h"
#include "encore/opt/tensor/rule_compiler.h"
#include "encore/opt/tensor/tensor_egraph.h"
#include "encore/opt/tensor/tensor_program.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

constexpr size_t kIterations = 5;
constexpr size_t kNodes = 100'000;
constexpr size_t kMatches = 4000;

}  // namespace

std::vector<bool> Derivable(const Graph& graph,
                            std::span<const TextRule> rules) {
  TensorEGraph tensors(graph.symbols());
  const TensorProgram program(graph, &tensors);
  eg::RuleBook book;
  CodedRuleSet coded([](RuleTag, std::string_view) { return true; },
                     RoundedFloats::kAll);
  coded.Before(&tensors, &book);
  std::vector<RuleCount> counts(rules.size());
  auto compiled = CompileRules(rules, &tensors, counts);
  ENCORE_CHECK_OK(compiled.status());
  std::vector<eg::RuleId> ids;
  for (eg::Rule& rule : compiled->rules) {
    ids.push_back(book.Add(std::move(rule)));
  }
  eg::Runner runner(&tensors.graph(), &book,
                    {.max_nodes = kNodes, .max_iterations = kIterations});
  eg::BackoffScheduler scheduler(kMatches);
  runner.Run(ids, &scheduler);
  coded.After(&tensors);
  std::vector<bool> derivable;
  const auto& outputs = graph.outputs();
  for (size_t i = 0; i + 1 < outputs.size(); i += 2) {
    derivable.push_back(program.class_of(outputs[i].value) ==
                        program.class_of(outputs[i + 1].value));
  }
  return derivable;
}

}  // namespace encore::opt
