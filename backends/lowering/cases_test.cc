// The files of testdata: graphs, and what fusion, lowering and memory planning
// make of them.
//
//   fusion    the graph, with the kernels that compute each node, for cpu:avx2
//             with two threads, as the greedy partition cuts them; without
//             fusion each is one of its own
//   partition the same, as extraction cuts them; without it, greedily. With the
//             option `family`, one of variants.h, for the machine of the test
//             (TableSeconds) in the place of cpu; without that family
//   lowering  slots and steps of the prepare and run plans, for ref, without
//             what lies in the kernels; without lowering each node is a launch,
//             and nothing else is done
//   memory    the places of temporaries in the arenas, for ref; without
//             planning each has one of its own
//
// Options: target, placement, rewrites (as the flags of those names), threads,
// ports, family.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/lowering/choose_partition.h"
#include "encore/backends/lowering/group.h"
#include "encore/backends/lowering/kernels.h"
#include "encore/backends/lowering/placement.h"
#include "encore/backends/lowering/scope.h"
#include "encore/backends/lowering/variants.h"
#include "encore/backends/options.h"
#include "encore/backends/region/build.h"
#include "encore/backends/region/region.h"
#include "encore/backends/region/work.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/parse_number.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/text_cases.h"
#include "encore/ir/text/printer.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/plan/compiled_graph_text.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

const std::vector<std::string> kOptions = {"target", "placement", "threads",
                                           "ports",  "rewrites",  "family"};

CompileOptions OptionsOf(const TextCase& text_case, const char* target) {
  CompileOptions options;
  options.target = text_case.Option("target", target);
  options.placement = text_case.Option("placement");
  // The graphs are meant as written; kernels may reassociate.
  options.rewrites = ParseValue<Rewrites>(text_case.Option("rewrites", "none"))
                         .value_or(Rewrites());
  options.optimizer = Optimizer::kGreedy;
  options.threads =
      ParseNumber<int64_t>(text_case.Option("threads", "2")).value_or(0);
  options.deterministic = false;
  // Plans that do not depend on the CPU that tests run on.
  if (options.target.starts_with("cpu:")) {
    options.machine = StrCat("zen4-", options.target.substr(4));
  }
  options.ports =
      ParseValue<Ports>(text_case.Option("ports", "host")).value_or(Ports());
  return options;
}

std::vector<TextCase> Cases(const std::string& what) {
  return ReadTextCases(StrCat("backends/lowering/testdata/", what));
}

std::string NameOf(const testing::TestParamInfo<TextCase>& info) {
  return info.param.name;
}

// The kernels of each node of a graph and its bodies.
using Notes = std::map<const Graph*, std::map<NodeId, std::string>>;

// `scope` is of the canonical graph; the notes are of the graph whose stencil
// it was read from.
void AddNotes(const Scope& scope, const Stencil& stencil,
              const Placement& placement, Notes* notes) {
  for (size_t i = 0; i < scope.kernels.size(); ++i) {
    const ScopeKernel& kernel = scope.kernels[i];
    std::string text = StrCat("kernel ", i);
    if (placement.backends.size() > 1) {
      StrAppend(&text, " on ", placement.backends[kernel.site.backend]->name());
    }
    if (kernel.site.prepare) StrAppend(&text, ", prepared");
    for (const NodeId node : kernel.nodes) {
      const Stencil::Place& place =
          stencil.places[*StencilNumber(scope.graph->origin(node))];
      std::string& note = (*notes)[place.graph][place.node];
      StrAppend(&note, note.empty() ? "" : "; ", text);
    }
  }
  for (const auto& [node, bodies] : scope.bodies) {
    for (const Scope& body : bodies) AddNotes(body, stencil, placement, notes);
  }
}

StatusOr<std::string> Fused(const TextCase& text_case, Optimizer optimizer,
                            bool fuse = true) {
  ENCORE_ASSIGN_OR_RETURN(const Graph graph, text_case.Parse());
  CompileOptions options = OptionsOf(text_case, "cpu:avx2");
  options.optimizer = optimizer;
  options.fuse = fuse;
  const Stencil stencil = MakeStencil(graph);
  ENCORE_ASSIGN_OR_RETURN(
      const Placement placement,
      ResolvePlacement(graph, stencil, options, AllBackends()));
  ENCORE_ASSIGN_OR_RETURN(const Graph canonical,
                          ReadStencil(stencil.bytes, stencil.constants));
  KernelTable table(placement, options, canonical.symbols());
  ENCORE_ASSIGN_OR_RETURN(const Scope scope,
                          MakeScope(canonical, {}, placement, options, &table));
  Notes notes;
  AddNotes(scope, stencil, placement, &notes);
  PrintOptions print;
  print.note = [&](const Graph& of, NodeId node) {
    const auto& own = notes[&of];
    const auto it = own.find(node);
    return it == own.end() ? std::string() : it->second;
  };
  return Print(graph, print);
}

class FusionCases : public testing::TestWithParam<TextCase> {};

TEST_P(FusionCases, AreAsWritten) {
  CheckTextCase(GetParam(), Fused(GetParam(), Optimizer::kGreedy),
                Fused(GetParam(), Optimizer::kGreedy, /*fuse=*/false),
                kOptions);
}

INSTANTIATE_TEST_SUITE_P(Testdata, FusionCases,
                         testing::ValuesIn(Cases("fusion")), NameOf);

// A kernel on a machine that starts one in 1 us, moves 10 GB and computes 20 G
// operations a second, 100 G where they are of a contraction, and keeps what
// it computes for later stages in memory that moves 1 GB a second.
std::optional<double> TableSeconds(const BuiltRegion& built, KernelSite) {
  const Region& region = built.region;
  const Work work = EstimateWork(region, {});
  double kept = 0, points = 1;
  for (uint32_t v = 0; v < region.outer; ++v) {
    points *= static_cast<double>(region.extents[v].constant());
  }
  for (const Stage& stage : region.stages) {
    if (!stage.value.valid() || stage.loops.empty()) continue;
    double elements = points;
    for (const uint32_t v : stage.loops) {
      elements *= static_cast<double>(region.extents[v].constant());
    }
    kept += 4 * elements;
  }
  return 1e-6 + (work.read_bytes + work.written_bytes) / 1e10 +
         work.contraction_flops / 1e11 +
         (work.flops - work.contraction_flops) / 2e10 + kept / 1e9;
}

// The graph with the kernels of each node, where variants are of `families`.
StatusOr<std::string> Partitioned(const TextCase& text_case,
                                  unsigned families) {
  ENCORE_ASSIGN_OR_RETURN(const Graph graph, text_case.Parse());
  FusionContext context;
  context.seconds = TableSeconds;
  for (const NodeId node : Nodes(graph)) {
    context.sites.push_back(HasRegion(graph, node) ? std::optional(KernelSite{})
                                                   : std::nullopt);
  }
  ENCORE_ASSIGN_OR_RETURN(
      const std::vector<Group> groups,
      ChoosePartition(graph, context, {.least_gain = 0, .families = families}));
  std::map<NodeId, std::string> notes;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const NodeId node : groups[g].nodes) {
      StrAppend(&notes[node], notes[node].empty() ? "" : "; ", "kernel ", g);
    }
  }
  PrintOptions print;
  print.note = [&](const Graph&, NodeId node) { return notes[node]; };
  return Print(graph, print);
}

class PartitionCases : public testing::TestWithParam<TextCase> {};

TEST_P(PartitionCases, AreAsWritten) {
  if (const std::string name = GetParam().Option("family"); !name.empty()) {
    const std::optional<VariantFamily> family = ParseVariantFamily(name);
    ASSERT_TRUE(family.has_value()) << "family " << name;
    CheckTextCase(GetParam(), Partitioned(GetParam(), kAllVariantFamilies),
                  Partitioned(GetParam(), kAllVariantFamilies & ~*family),
                  kOptions);
    return;
  }
  CheckTextCase(GetParam(), Fused(GetParam(), Optimizer::kEGraph),
                Fused(GetParam(), Optimizer::kGreedy), kOptions);
}

INSTANTIATE_TEST_SUITE_P(Testdata, PartitionCases,
                         testing::ValuesIn(Cases("partition")), NameOf);

StatusOr<runtime::CompiledGraph> Compiled(const TextCase& text_case) {
  ENCORE_ASSIGN_OR_RETURN(const Graph graph, text_case.Parse());
  return Compile(graph, OptionsOf(text_case, "ref"), AllBackends());
}

// Plan by plan, what each step is and how many nodes it computes; of a launch
// also how many slots it reads and writes.
std::string StepsOf(const runtime::CompiledGraph& graph) {
  std::string text;
  for (const runtime::Plan& plan : graph.plans) {
    for (const runtime::Step& step : plan.steps) {
      const std::string line = runtime::StepText(graph, step);
      StrAppend(&text, line.substr(0, line.find(' ')), " ",
                step.origins.size());
      if (const runtime::Launch* launch =
              std::get_if<runtime::Launch>(&step.op)) {
        StrAppend(&text, " ", launch->reads.size(), " ", launch->writes.size());
      }
      text += "\n";
    }
    StrAppend(&text, "end\n");
  }
  return text;
}

// The same of the plainest lowering, as on a device that is the host itself: a
// launch for each node in order, an invocation for one with bodies, nothing
// prepared, nothing shared, no copies.
std::string PlainSteps(const Graph& graph) {
  std::string text, own;
  const std::vector<bool> live = LiveNodes(graph);
  for (const NodeId node : Nodes(graph)) {
    const Op op = graph.op(node);
    if (!live[node.value()] || op == Op::kInput || op == Op::kParameter) {
      continue;
    }
    for (const Graph& body : graph.bodies(node)) {
      StrAppend(&text, PlainSteps(body));
    }
    if (graph.bodies(node).empty()) {
      StrAppend(&own, "launch 1 ", graph.operands(node).size(), " ",
                graph.result_count(node), "\n");
    } else {
      own += "invoke 1\n";
    }
  }
  return text + own + "end\n";
}

// Its text without what lies in kernels, which is the backends' own: machine
// code and what it requires differ from machine to machine.
std::string TextWithoutKernels(runtime::CompiledGraph graph) {
  for (runtime::KernelBinary& binary : graph.kernel_binaries) {
    if (binary.artifact.valid()) {
      graph.blobs[binary.artifact.value()] = runtime::Blob();
    }
    binary.params.clear();
    binary.identity.clear();
    binary.requirements.clear();
  }
  return runtime::CompiledGraphText(graph);
}

class LoweringCases : public testing::TestWithParam<TextCase> {};

TEST_P(LoweringCases, AreAsWritten) {
  const StatusOr<Graph> graph = GetParam().Parse();
  ASSERT_TRUE(graph.ok()) << graph.status();
  const StatusOr<runtime::CompiledGraph> compiled = Compiled(GetParam());
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const std::string text = TextWithoutKernels(*compiled);
  // Steps are compared, since the plain ones have no slots.
  const std::string plain = PlainSteps(*graph);
  CheckTextCase(GetParam(), text, StepsOf(*compiled) == plain ? text : plain,
                kOptions);
}

INSTANTIATE_TEST_SUITE_P(Testdata, LoweringCases,
                         testing::ValuesIn(Cases("lowering")), NameOf);

// Places of all temporaries of constant size. `planned`: as they are; otherwise
// one after the other.
std::string PlacesOf(const runtime::CompiledGraph& graph, bool planned) {
  std::string text;
  std::map<uint32_t, int64_t> used;  // by arena, where not planned
  std::string lines;
  for (uint32_t i = 0; i < graph.slots.size(); ++i) {
    const runtime::Slot& slot = graph.slots[i];
    if (!slot.base.valid() || !graph.slot(slot.base).is_arena ||
        !slot.bytes.is_constant() || !slot.offset.is_constant()) {
      continue;
    }
    int64_t& end = used[slot.base.value()];
    const int64_t offset = planned ? slot.offset.constant() : end;
    end += RoundUp(slot.bytes.constant(), runtime::kAlignment);
    StrAppend(&lines, "  slot ", i, ": ", slot.type, ", ",
              slot.bytes.constant(), " bytes at ", offset, " of arena ",
              slot.base.value(), "\n");
  }
  for (uint32_t i = 0; i < graph.slots.size(); ++i) {
    const runtime::Slot& slot = graph.slots[i];
    if (!slot.is_arena) continue;
    StrAppend(&text, "arena ", i, ": ",
              planned ? slot.bytes.ToString() : StrCat(used[i]), " bytes\n");
  }
  return text + lines;
}

class MemoryCases : public testing::TestWithParam<TextCase> {};

TEST_P(MemoryCases, AreAsWritten) {
  const StatusOr<runtime::CompiledGraph> graph = Compiled(GetParam());
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::string steps;
  const runtime::Plan& run = graph->plan(graph->run);
  for (size_t i = 0; i < run.steps.size(); ++i) {
    StrAppend(&steps, "step ", i, ": ", runtime::StepText(*graph, run.steps[i]),
              "\n");
  }
  CheckTextCase(GetParam(), PlacesOf(*graph, true) + steps,
                PlacesOf(*graph, false) + steps, kOptions);
}

INSTANTIATE_TEST_SUITE_P(Testdata, MemoryCases,
                         testing::ValuesIn(Cases("memory")), NameOf);

TEST(LoweringCaseCounts, ThereAreEnough) {
  EXPECT_GE(Cases("fusion").size(), 20);
  EXPECT_GE(Cases("partition").size(), 40);
  EXPECT_GE(Cases("lowering").size(), 10);
  EXPECT_GE(Cases("memory").size(), 10);
}

}  // namespace
}  // namespace encore::backends
