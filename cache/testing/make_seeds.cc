// Writes the seeds of the fuzz targets for files that the cache layer reads:
// packages, recordings, entries, other containers, compiled graphs.
//
//   bazel run //cache/testing:make_seeds -- ROOT
//
// ROOT is the repository; what is in it is replaced, inputs that once found
// something (found-*) stay.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/cache/package/package.h"
#include "encore/cache/session/export.h"
#include "encore/cache/session/named_entries.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/standard_session.h"
#include "encore/cache/store/container.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/testing/seeds.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "encore/runtime/testing/sample_plans.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kRandomGraphs = 14;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

struct AllSeeds {
  explicit AllSeeds(const fs::path& root)
      : packages(root / "cache/package/testdata/package_fuzz"),
        entries(root / "cache/store/testdata/entry_fuzz"),
        containers(root / "cache/store/testdata/container_fuzz"),
        plans(root / "runtime/plan/testdata/compiled_graph_io_fuzz") {}

  Seeds packages, entries, containers, plans;
};

// A parameter, a constant of more than kMaxInlineConstant bytes, a symbol or
// not.
Graph Mlp(bool symbolic) {
  const char* const head = symbolic
                               ? "symbols N in [1, 8]\ngraph mlp(%x: f32[N,4]"
                               : "graph mlp(%x: f32[2,4]";
  return ParsedGraph(StrCat(head, ", %w: param f32[4,20]) -> f32[",
                            symbolic ? "N" : "2",
                            R"(,20] {
  %c = constant() {value = f32[20,20] 0.25}
  %h = dot_general(%x, %w) {contract = [1]x[0]} @"first"
  %y = dot_general(%h, %c) {contract = [1]x[0]} @"second"
  return %y
})"));
}

std::vector<Literal> InputsOf(const Graph& graph, uint64_t seed) {
  const std::vector<Literal> arguments = RandomArguments(graph, seed);
  std::vector<Literal> inputs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!graph.arguments()[i].is_parameter) inputs.push_back(arguments[i]);
  }
  return inputs;
}

std::string PlanOf(const std::string& file) {
  const auto container = Container::FromBytes(file);
  ENCORE_CHECK_OK(container.status());
  const auto plan = (*container)->Read(SectionType::kCompiledGraph);
  ENCORE_CHECK_OK(plan.status());
  return {reinterpret_cast<const char*>(plan->data()), plan->size()};
}

// What a session keeps and packs of a graph.
void AddGraph(const std::string& name, Graph graph, const std::string& target,
              const AllSeeds& seeds) {
  const fs::path folder = fs::temp_directory_path() / StrCat("seeds-", name);
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::vector<Literal> arguments = RandomArguments(graph, 1);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Graph::Argument& argument = graph.arguments()[i];
    if (!argument.is_parameter) continue;
    // No session takes a parameter of symbolic size.
    if (graph.type(argument.value) != arguments[i].type()) return;
    graph.set_parameter_data(static_cast<int>(i), arguments[i]);
  }
  backends::CompileOptions options;
  options.target = target;
  runtime::ThreadPool threads(1);
  Session session(StandardSessionOptions(options, folder / "store"), &threads);
  const std::string path = folder / "file.encore";
  const Package::Call call{InputsOf(graph, 1), {}};
  const bool is_recording = name.back() % 2 != 0;
  const std::span<const Package::Call> calls(&call, is_recording ? 1 : 0);
  const Status recorded = Record(session, path, graph, calls);
  if (!recorded.ok()) {
    std::cout << name << ": " << recorded << "\n";
    return;
  }
  seeds.packages.Add(name, ReadAll(path));
  seeds.plans.Add(name, PlanOf(ReadAll(path)));
  ENCORE_CHECK_OK(PutNamed(session, "a name", graph).status());
  for (const DiskStore::Entry& entry : session.options().disk->List()) {
    const std::string bytes = ReadAll(entry.path);
    if (entry.kind == "graph") {
      seeds.entries.Add(name, bytes);
    } else if (name == "mlp-1" || name == "cpu-0") {
      seeds.containers.Add(StrCat(name, "-", entry.kind), bytes);
    }
  }
  fs::remove_all(folder);
}

int Main(const fs::path& root) {
  const AllSeeds seeds(root);
  AddGraph("mlp-1", Mlp(true), "ref", seeds);
  AddGraph("cpu-0", Mlp(false), "cpu", seeds);
  for (uint32_t seed = 0; seed < kRandomGraphs; ++seed) {
    RandomGraphOptions options;
    options.nodes = 2 + static_cast<int>(seed % 4);
    options.symbolic = seed % 3 == 0;
    AddGraph(StrCat("random-", seed), RandomGraph(seed, options), "ref", seeds);
  }
  for (uint32_t seed = 0; seed < 2; ++seed) {
    const auto plan =
        runtime::SerializeCompiledGraph(runtime::RandomPlan(seed));
    seeds.plans.Add(StrCat("plan-", seed),
                    {reinterpret_cast<const char*>(plan.data()), plan.size()});
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace encore::cache

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_seeds ROOT\n";
    return EXIT_FAILURE;
  }
  return encore::cache::Main(argv[1]);
}
