// Compiles that find kernels in a store, on the backends that keep them.
#include <string>
#include <vector>

#include "encore/backends/artifact_store.h"
#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/map_store.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

// Products with weights and a relu behind each, of those widths, and a softmax.
Graph Layers(const std::vector<int>& widths) {
  std::string arguments = StrCat("%x0: f32[24,", widths[0], "]"), body;
  for (size_t i = 1; i < widths.size(); ++i) {
    StrAppend(&arguments, ", %w", i, ": param f32[", widths[i - 1], ",",
              widths[i], "]");
    StrAppend(&body, "  %p", i, " = dot_general(%x", i - 1, ", %w", i,
              ") {contract = [1]x[0]}\n  %x", i, " = relu(%p", i, ")\n");
  }
  const std::string last = StrCat("%x", widths.size() - 1);
  return ParsedGraph(StrCat("graph g(", arguments, ") -> f32[24,",
                            widths.back(), "] {\n", body, "  %y = softmax(",
                            last, ") {axis = 1}\n  return %y\n}"));
}

// Convolutions: dense, with few rows of results, depthwise.
Graph Convolutions() {
  return ParsedGraph(R"(
graph g(%x: f32[1,16,20,20], %a: param f32[32,16,3,3],
        %b: param f32[32,1,3,3]) -> f32[1,32,18,18] {
  %c = convolution(%x, %a) {strides = [1,1], padding_low = [1,1],
    padding_high = [1,1], lhs_dilation = [1,1], rhs_dilation = [1,1]}
  %r = relu(%c)
  %d = convolution(%r, %b) {strides = [1,1], padding_low = [0,0],
    padding_high = [0,0], lhs_dilation = [1,1], rhs_dilation = [1,1],
    feature_groups = 32}
  %y = tanh(%d)
  return %y
})");
}

struct Keeper {
  std::string name;
  std::string target = "cpu";
  CpuKernels kernels = CpuKernels::kGenerated;
};

CompileOptions Options(const Keeper& keeper = {}) {
  CompileOptions options;
  options.threads = 2;
  options.target = keeper.target;
  options.cpu_kernels = keeper.kernels;
  return options;
}

std::string NameOf(const testing::TestParamInfo<Keeper>& info) {
  return info.param.name;
}

runtime::CompiledGraph Compiled(const Graph& graph,
                                const CompileOptions& options,
                                ArtifactStore* store) {
  auto compiled = Compile(graph, options, AllBackends(), store);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return compiled.ok() ? *std::move(compiled) : runtime::CompiledGraph();
}

std::string Bytes(const Graph& graph, const CompileOptions& options,
                  ArtifactStore* store) {
  const auto bytes =
      runtime::SerializeCompiledGraph(Compiled(graph, options, store));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// How many kernels are generated that `store` does not have.
int Generated(const Graph& graph, const CompileOptions& options,
              MapStore& store) {
  const int before = store[kKernelKind].puts;
  Compiled(graph, options, &store);
  return store[kKernelKind].puts - before;
}

class KeptKernels : public testing::TestWithParam<Keeper> {};

TEST_P(KeptKernels, TheCompiledGraphIsTheSame) {
  for (const Graph& graph : {Layers({64, 128, 96}), Convolutions()}) {
    const CompileOptions options = Options(GetParam());
    const std::string plain = Bytes(graph, options, nullptr);
    MapStore store;
    MapStore::Kind& kernels = store[kKernelKind];
    EXPECT_EQ(Bytes(graph, options, &store), plain);
    const int generated = kernels.puts;
    EXPECT_GT(generated, 1);
    EXPECT_EQ(kernels.rows.size(), generated);
    EXPECT_EQ(Bytes(graph, options, &store), plain);
    EXPECT_EQ(kernels.puts, generated);
    // Some found, some not, whichever they are.
    const auto all = kernels.rows;
    for (const auto& [key, bytes] : all) {
      kernels.rows.erase(key);
      EXPECT_EQ(Bytes(graph, options, &store), plain);
      EXPECT_EQ(kernels.rows, all);
      kernels.rows = {{key, bytes}};
      EXPECT_EQ(Bytes(graph, options, &store), plain);
      EXPECT_EQ(kernels.rows, all);
    }
    const std::vector<Literal> arguments = RandomArguments(graph, 7);
    const auto bounds = EvaluateBounds(graph, arguments);
    const auto actual = Replay(graph, Compiled(graph, options, &store),
                               AllBackends(), arguments);
    ASSERT_TRUE(bounds.ok() && actual.ok()) << actual.status();
    EXPECT_EQ(Difference(*actual, *bounds), std::nullopt);
  }
}

// Whatever a store gives for a kernel: the compiled graph does not change.
TEST_P(KeptKernels, WhatIsNoKernelForItsKeyIsAsIfItWereNotThere) {
  const Graph graph = Layers({32, 48, 32, 48});
  const CompileOptions options = Options(GetParam());
  const std::string plain = Bytes(graph, options, nullptr);
  MapStore store;
  ASSERT_EQ(Bytes(graph, options, &store), plain);
  MapStore::Kind& kernels = store[kKernelKind];
  const auto good = kernels.rows;
  const auto expect_healed = [&](const std::string& what) {
    EXPECT_EQ(Bytes(graph, options, &store), plain) << what;
    EXPECT_EQ(kernels.rows, good) << what;
  };
  for (size_t tenth = 0; tenth < 10; ++tenth) {
    for (auto& [key, bytes] : kernels.rows) {
      bytes[bytes.size() * tenth / 10] ^= std::byte{0x10};
    }
    expect_healed(StrCat("a flipped bit after ", tenth, " tenths"));
    for (auto& [key, bytes] : kernels.rows) {
      bytes.resize(bytes.size() * tenth / 10);
    }
    expect_healed(StrCat("cut after ", tenth, " tenths"));
  }
  for (auto& [key, bytes] : kernels.rows) bytes.push_back(std::byte{0});
  expect_healed("a byte more");
  // Each the next one's.
  auto next = good.begin();
  for (auto& [key, bytes] : kernels.rows) {
    if (++next == good.end()) next = good.begin();
    bytes = next->second;
  }
  expect_healed("another kernel");
}

INSTANTIATE_TEST_SUITE_P(
    All, KeptKernels,
    testing::Values(Keeper{"cpu"}, Keeper{"vendor", "cpu", CpuKernels::kVendor},
                    Keeper{"cuda", "cuda:emulated"}),
    NameOf);

class NewKernels : public testing::TestWithParam<Keeper> {};

TEST_P(NewKernels, OnlyWhatIsNewIsGenerated) {
  MapStore store;
  const CompileOptions options = Options(GetParam());
  // Two products and a softmax, each another kernel.
  EXPECT_EQ(Generated(Layers({64, 128, 96}), options, store), 3);
  EXPECT_EQ(Generated(Layers({64, 128, 96}), options, store), 0);
  // Another model of the same layers and one more, its softmax another.
  EXPECT_EQ(Generated(Layers({64, 128, 96, 32}), options, store), 2);
  // A layer whose width changed is read by the next one.
  EXPECT_EQ(Generated(Layers({64, 128, 80, 32}), options, store), 2);
  // All of that is there now.
  EXPECT_EQ(Generated(Layers({128, 80, 32}), options, store), 0);
}

TEST_P(NewKernels, EqualLayersAreGeneratedOnce) {
  MapStore store;
  EXPECT_EQ(Generated(Layers({64, 64, 64, 64, 64}), Options(GetParam()), store),
            2);
}

INSTANTIATE_TEST_SUITE_P(All, NewKernels,
                         testing::Values(Keeper{"cpu"},
                                         Keeper{"cuda", "cuda:h100"}),
                         NameOf);

TEST(NewKernels, ArchitecturesHaveTheirOwn) {
  MapStore store;
  const Graph graph = Layers({64, 128, 96});
  EXPECT_EQ(Generated(graph, Options({"", "cuda:h100"}), store), 3);
  EXPECT_EQ(Generated(graph, Options({"", "cuda:h200"}), store), 0);
  EXPECT_EQ(Generated(graph, Options({"", "cuda:a100"}), store), 3);
}

TEST(NewKernels, ThreadsShareThemInstructionSetsDoNot) {
  MapStore store;
  const Graph graph = Layers({64, 128, 96});
  CompileOptions options = Options();
  // Estimates of a committed class, whatever CPU this runs on.
  options.machine = "zen5-avx2";
  EXPECT_EQ(Generated(graph, options, store), 3);
  for (const int threads : {3, 16, 1}) {
    options.threads = threads;
    const std::string plain = Bytes(graph, options, nullptr);
    EXPECT_EQ(Bytes(graph, options, &store), plain);
    // With one thread another candidate is estimated to be cheaper for one of
    // them: its estimate does not count on a second one.
    EXPECT_EQ(store[kKernelKind].puts, threads == 1 ? 4 : 3);
  }
  options.threads = 2;
  options.machine = "zen5-avx512";
  EXPECT_EQ(Generated(graph, options, store), 3);
}

TEST(NewKernels, RefKeepsNone) {
  MapStore store;
  CompileOptions options = Options();
  options.target = "ref";
  Compiled(Layers({64, 128, 96}), options, &store);
  EXPECT_EQ(store[kKernelKind].gets, 0);
  EXPECT_EQ(store[kKernelKind].puts, 0);
}

}  // namespace
}  // namespace encore::backends
