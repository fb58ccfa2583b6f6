// Each pair of programs, improved as a compile for a CPU with AVX2 improves
// them: by the backend's estimates, what people write costs at most 1.15 times
// what an expert writes, but for the pairs of exceptions.list that say "cost",
// each with its reason; and of these it does cost more.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/lowering/graph_costs.h"
#include "encore/backends/lowering/placement.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/graph/symbol_binding.h"
#include "encore/ir/support/parse_number.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/text_cases.h"
#include "encore/ir/text/parser.h"
#include "encore/opt/passes/pipeline.h"
#include "encore/opt/tensor/improve.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

constexpr double kMostRatio = 1.15;
constexpr std::string_view kExceptions = "tests/programs/exceptions.list";

CompileOptions Options() {
  CompileOptions options;
  options.target = "cpu:avx2";
  options.machine = "zen4-avx2";  // whatever CPU the test runs on
  options.threads = 2;
  options.deterministic = false;
  return options;
}

// What the file's `bind` says of the sizes, "M=256, N=256".
Status BindSizes(const TextCase& pair, const Graph& graph,
                 SymbolBinding* binding) {
  std::istringstream sizes(pair.Option("bind"));
  std::string size;
  while (std::getline(sizes, size, ',')) {
    size.erase(0, size.find_first_not_of(' '));
    const std::string name = size.substr(0, size.find('='));
    const auto value = ParseNumber<int64_t>(size.substr(name.size() + 1));
    const auto symbol = std::ranges::find(graph.symbols(), name, &Symbol::name);
    if (!value || symbol == graph.symbols().end()) {
      return InvalidArgumentError(StrCat(pair.path, ": bind ", size));
    }
    ENCORE_RETURN_IF_ERROR(binding->BindSymbol(
        static_cast<uint32_t>(symbol - graph.symbols().begin()), *value));
  }
  return OkStatus();
}

// Seconds of a run of the graph as the compiler makes it.
StatusOr<double> SecondsOf(const TextCase& pair, const Graph& graph) {
  SymbolBinding binding(graph.symbols());
  ENCORE_RETURN_IF_ERROR(BindSizes(pair, graph, &binding));
  opt::PassOptions before;
  before.replacements.assign(binding.replacements().begin(),
                             binding.replacements().end());
  ENCORE_ASSIGN_OR_RETURN(
      const Graph canonical,
      opt::RunPasses(opt::PassesBeforeKey(), graph, before));
  const Stencil stencil = MakeStencil(canonical);
  const CompileOptions options = Options();
  ENCORE_ASSIGN_OR_RETURN(
      const Placement placement,
      ResolvePlacement(canonical, stencil, options, AllBackends()));
  ENCORE_ASSIGN_OR_RETURN(const Graph read,
                          ReadStencil(stencil.bytes, stencil.constants));
  const GraphCosts costs(placement, options);
  opt::PassOptions after;
  after.rewrite.level = opt::RewriteLevel::kReassociate;
  after.rewrite.costs = &costs;
  ENCORE_ASSIGN_OR_RETURN(const Graph improved,
                          opt::RunPasses(opt::PassesAfterKey(), read, after));
  const auto cost = costs.CostAsCompiled(improved);
  if (!cost) return InternalError("a part has no kernel");
  return cost->seconds;
}

// Reasons by pair, "theme/name".
std::map<std::string, std::string> Exceptions() {
  std::map<std::string, std::string> reasons;
  std::ifstream file{std::string(kExceptions)};
  EXPECT_TRUE(file.good()) << kExceptions;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string kind, pair, reason;
    words >> kind >> pair;
    std::getline(words >> std::ws, reason);
    if (kind != "cost") continue;
    EXPECT_FALSE(reason.empty()) << line << ": no reason";
    EXPECT_TRUE(reasons.emplace(pair, reason).second) << pair << " twice";
  }
  return reasons;
}

TEST(ProgramCostsTest, WrittenCostsWhatTheExpertsDoes) {
  std::map<std::string, std::string> exceptions = Exceptions();
  for (const TextCase& pair : ReadTextCases("tests/programs")) {
    const std::string path = pair.path.substr(pair.path.find("programs/") + 9);
    const std::string name = path.substr(0, path.rfind('.'));
    SCOPED_TRACE(name);
    const StatusOr<Graph> written = pair.Parse();
    const StatusOr<Graph> expert = ParseGraph(pair.expected);
    ASSERT_TRUE(written.ok() && expert.ok()) << written.status();
    const StatusOr<double> ours = SecondsOf(pair, *written);
    const StatusOr<double> best = SecondsOf(pair, *expert);
    ASSERT_TRUE(ours.ok()) << ours.status();
    ASSERT_TRUE(best.ok()) << best.status();
    const double ratio = *ours / *best;
    if (ratio > 1.01) std::cout << name << " " << ratio << "\n";
    if (exceptions.erase(name) > 0) {
      EXPECT_GT(ratio, kMostRatio) << "holds: take it out of " << kExceptions;
    } else {
      EXPECT_LE(ratio, kMostRatio)
          << "mend it, or say in " << kExceptions << " why that cannot be";
    }
  }
  for (const auto& [name, reason] : exceptions) {
    ADD_FAILURE() << kExceptions << ": there is no program " << name;
  }
}

}  // namespace
}  // namespace encore::backends
