// Time and memory of the math microbenchmark after 8, 10 and 11 iterations.
#include <string_view>
#include <vector>

#include "benchmark/benchmark.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/egraph/testing/math_language.h"

namespace encore::egraph {
namespace {

void BM_MathMicro(benchmark::State& state) {
  const bool explanations = state.range(1) != 0;
  for (auto _ : state) {
    EGraph graph(MathLanguage(), {.explanations = explanations});
    const Syntax syntax = MathSyntax(graph.language());
    for (const std::string_view term : MathMicroTerms()) {
      benchmark::DoNotOptimize(AddTerm(&graph, term, syntax));
    }
    RuleBook book;
    const std::vector<RuleId> rules =
        AddRules(&graph, syntax, MathMicroRules(), &book);
    Limits limits;
    limits.max_nodes = 100'000'000;
    limits.max_seconds = 1000;
    Runner runner(&graph, &book, limits);
    for (int i = 0; i < state.range(0); ++i) runner.Step(rules);
    state.counters["enodes"] = graph.num_enodes();
    state.counters["classes"] = graph.num_classes();
    size_t matches = 0;
    for (const RuleId rule : rules) matches += runner.stats(rule).matches;
    state.counters["matches"] = matches;
    state.counters["rows"] = graph.node_limit();
    const double nodes = graph.num_enodes();
    state.counters["bytes/enode"] = graph.memory_bytes() / nodes;
    state.counters["peak/enode"] = graph.peak_memory_bytes() / nodes;
  }
}
BENCHMARK(BM_MathMicro)
    ->ArgNames({"iterations", "explain"})
    ->Args({8, 0})
    ->Args({10, 0})
    ->Args({11, 0})
    ->Args({11, 1})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace encore::egraph
