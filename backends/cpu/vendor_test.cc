// Vendor kernels against the evaluator: each graph is compiled with
// cpu_kernels = vendor, must then have a vendor program, and is replayed.
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/cpu/cpu_backend.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/profile/machine_profile.h"
#include "encore/backends/cpu/vendor/efficiency.h"
#include "encore/backends/cpu/vendor/kernel.h"
#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/cpu/vendor/program.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/parser.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

// Whether a graph that is compiled without vendor kernels runs, and leaves the
// library where it is. REQUIRES a process that has not loaded it.
bool RunsWithoutTheLibrary() {
  const StatusOr<Graph> graph = ParseGraph(
      "graph g(%x: f32[8,8], %w: param f32[8,8]) -> f32[8,8] {\n"
      "  %y = dot_general(%x, %w) {contract = [1]x[0]}\n  return %y\n}");
  if (!graph.ok() || VendorLibraryIsLoaded()) return false;
  CompileOptions options;
  options.cpu_kernels = CpuKernels::kGenerated;
  const auto compiled = Compile(*graph, options, AllBackends());
  return compiled.ok() &&
         Replay(*graph, *compiled, AllBackends(), RandomArguments(*graph, 1))
             .ok() &&
         !VendorLibraryIsLoaded();
}

// In a process of its own, whatever ran before.
TEST(Vendor, IsNotLoadedWhereNoVendorKernelIsChosen) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(RunsWithoutTheLibrary() ? 0 : 1),
              testing::ExitedWithCode(0), "");
}

int VendorPrograms(const runtime::CompiledGraph& compiled) {
  int count = 0;
  for (const runtime::KernelBinary& program : compiled.kernel_binaries) {
    if (!IsVendor(program.params)) continue;
    const auto decoded = DecodeVendor(program.params);
    EXPECT_TRUE(decoded.ok()) << decoded.status();
    count += decoded.ok() && !decoded->packs;
  }
  return count;
}

runtime::CompiledGraph CompileForced(const Graph& graph) {
  CompileOptions options;
  options.cpu_kernels = CpuKernels::kVendor;
  StatusOr<runtime::CompiledGraph> compiled =
      Compile(graph, options, AllBackends());
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return compiled.ok() ? *std::move(compiled) : runtime::CompiledGraph();
}

void Check(const std::string& text, int programs = 1) {
  SCOPED_TRACE(text);
  const StatusOr<Graph> graph = ParseGraph(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::vector<Literal> arguments = RandomArguments(*graph, 7);
  const auto bounds = EvaluateBounds(*graph, arguments);
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  const runtime::CompiledGraph compiled = CompileForced(*graph);
  EXPECT_EQ(VendorPrograms(compiled), programs);
  const auto actual = Replay(*graph, compiled, AllBackends(), arguments);
  ASSERT_TRUE(actual.ok()) << actual.status();
  const auto difference = Difference(*actual, *bounds);
  EXPECT_FALSE(difference.has_value()) << *difference;
}

std::string Dot(int64_t m, int64_t k, int64_t n, std::string_view rest,
                std::string_view parameter = "param ") {
  return StrCat("graph g(%x: f32[", m, ",", k, "], %w: ", parameter, "f32[", k,
                ",", n, "], %b: param f32[", n, "], %r: f32[", m, ",", n,
                "]) -> f32[", m, ",", n,
                "] {\n  %d = dot_general(%x, %w) {contract = [1]x[0]}\n", rest,
                "  return %y\n}");
}

std::string Biased(int64_t m, int64_t n) {
  return StrCat("  %bb = broadcast(%b) {shape = [", m, ",", n,
                "], axes = [1]}\n  %s = add(%d, %bb)\n");
}

TEST(Vendor, Matmul) {
  for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{
           {1, 64, 128}, {5, 7, 3}, {64, 96, 80}, {130, 40, 200}, {3, 1, 9}}) {
    Check(Dot(m, k, n, "  %y = neg(%d)\n"));
    Check(Dot(m, k, n, "  %y = neg(%d)\n", ""));
    Check(Dot(m, k, n, Biased(m, n) + "  %y = relu(%s)\n"));
    Check(Dot(m, k, n, Biased(m, n) + "  %t = add(%s, %r)\n  %y = tanh(%t)\n"));
  }
}

TEST(Vendor, PiecesOfOddExtents) {
  for (const auto& [m, n] : std::vector<std::pair<int64_t, int64_t>>{
           {300, 333}, {1111, 32}, {7, 1999}}) {
    Check(Dot(m, 200, n, "  %y = neg(%d)\n"));
    Check(Dot(m, 200, n, Biased(m, n) + "  %y = logistic(%s)\n"));
  }
}

TEST(Vendor, TransposedAndBatched) {
  Check(R"(graph g(%x: f32[40,30], %w: param f32[50,30]) -> f32[40,50] {
  %y = dot_general(%x, %w) {contract = [1]x[1]}
  return %y
})");
  Check(R"(graph g(%x: f32[30,40], %w: f32[30,50]) -> f32[40,50] {
  %y = dot_general(%x, %w) {contract = [0]x[0]}
  return %y
})");
  Check(R"(graph g(%q: f32[2,6,20,16], %k: f32[2,6,24,16]) -> f32[2,6,20,24] {
  %y = dot_general(%q, %k) {contract = [3]x[3], batch = [0,1]x[0,1]}
  return %y
})");
  Check(R"(graph g(%q: f32[2,20,6,16], %k: f32[2,24,6,16]) -> f32[2,6,20,24] {
  %y = dot_general(%q, %k) {contract = [3]x[3], batch = [0,2]x[0,2]}
  return %y
})");
}

TEST(Vendor, NaNAndInfinityPassThroughWhatFollows) {
  const StatusOr<Graph> graph =
      ParseGraph(Dot(32, 16, 32, Biased(32, 32) + "  %y = relu(%s)\n"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<Literal> arguments = RandomArguments(*graph, 3);
  std::vector<float> x(32 * 16, 1.0f);
  x[0] = std::numeric_limits<float>::quiet_NaN();
  x[16] = std::numeric_limits<float>::infinity();
  const auto bytes = std::as_bytes(std::span(x));
  arguments[0] = *Literal::Copy(DType::kF32, {32, 16}, bytes);
  const auto bounds = EvaluateBounds(*graph, arguments);
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  const auto actual =
      Replay(*graph, CompileForced(*graph), AllBackends(), arguments);
  ASSERT_TRUE(actual.ok()) << actual.status();
  const auto difference = Difference(*actual, *bounds);
  EXPECT_FALSE(difference.has_value()) << *difference;
}

struct Conv {
  int64_t n = 1, c = 16, o = 32, size = 9, window = 3, stride = 1;
  int64_t dilation = 1, groups = 1, low = 1, high = 1;
};

std::string ConvText(const Conv& s, int spatial, std::string_view rest) {
  const auto list = [&](int64_t value) {
    std::string text = StrCat(value);
    for (int d = 1; d < spatial; ++d) StrAppend(&text, ",", value);
    return text;
  };
  const int64_t out =
      (s.size + s.low + s.high - ((s.window - 1) * s.dilation + 1)) / s.stride +
      1;
  const std::string result = StrCat(s.n, ",", s.o, ",", list(out));
  return StrCat(
      "graph g(%x: f32[", s.n, ",", s.c, ",", list(s.size), "], %w: param f32[",
      s.o, ",", s.c / s.groups, ",", list(s.window), "], %b: param f32[", s.o,
      "], %r: f32[", result, "]) -> f32[", result,
      "] {\n  %d = convolution(%x, %w) {strides = [", list(s.stride),
      "], padding_low = [", list(s.low), "], padding_high = [", list(s.high),
      "], lhs_dilation = [", list(1), "], rhs_dilation = [", list(s.dilation),
      "], feature_groups = ", s.groups, "}\n  %bb = broadcast(%b) {shape = [",
      result, "], axes = [1]}\n  %s = add(%d, %bb)\n", rest, "  return %y\n}");
}

TEST(Vendor, Convolution) {
  const std::vector<Conv> cases = {
      {},
      {.c = 3, .o = 8, .size = 20, .stride = 2},
      {.n = 5, .c = 8, .o = 24},
      {.c = 64, .o = 192, .size = 14},
      {.c = 20, .o = 70, .size = 17, .window = 5, .low = 2, .high = 0},
      {.size = 16, .stride = 2, .low = 0},
      {.dilation = 2, .low = 2, .high = 2},
      {.c = 48, .o = 48, .groups = 48},
      {.c = 80, .o = 80, .size = 30, .window = 5, .groups = 80},
      {.c = 32, .o = 64, .groups = 4},
      {.c = 7, .o = 5, .window = 1, .stride = 2, .low = 0, .high = 0},
  };
  for (const Conv& s : cases) {
    Check(ConvText(s, 2, "  %y = relu(%s)\n"));
    Check(ConvText(s, 2, "  %t = add(%s, %r)\n  %y = logistic(%t)\n"));
  }
  Check(ConvText({.size = 50}, 1, "  %y = relu(%s)\n"));
  Check(ConvText({.c = 8, .o = 16, .size = 6}, 3, "  %y = relu(%s)\n"));
}

// A convolution along one of several spatial dims, whichever it is, has the
// program of the convolution without the others.
TEST(Vendor, DimsInWhichNothingMovesAreDropped) {
  const auto text = [](std::string_view size, std::string_view window,
                       std::string_view result, std::string_view low) {
    return StrCat("graph g(%x: f32[1,24,", size, "], %w: param f32[40,24,",
                  window, "]) -> f32[1,40,", result,
                  "] {\n  %y = convolution(%x, %w) {strides = [1,1,1], "
                  "padding_low = [",
                  low,
                  "], padding_high = [0,0,0], "
                  "lhs_dilation = [1,1,1], rhs_dilation = [1,1,1], "
                  "feature_groups = 1}\n  return %y\n}");
  };
  for (const std::string& graph :
       {text("30,1,1", "5,1,1", "28,1,1", "2,0,0"),
        text("1,30,1", "1,5,1", "1,28,1", "0,2,0"),
        text("1,1,30", "1,1,5", "1,1,28", "0,0,2")}) {
    Check(graph);
    const runtime::CompiledGraph compiled = CompileForced(*ParseGraph(graph));
    for (const runtime::KernelBinary& program : compiled.kernel_binaries) {
      if (!IsVendor(program.params)) continue;
      const auto decoded = DecodeVendor(program.params);
      ASSERT_TRUE(decoded.ok()) << decoded.status();
      EXPECT_EQ(decoded->program.source.dims,
                (std::vector<int64_t>{1, 24, 30}));
      EXPECT_EQ(decoded->program.weights.dims,
                (std::vector<int64_t>{40, 24, 5}));
      EXPECT_EQ(decoded->program.result.dims,
                (std::vector<int64_t>{1, 40, 28}));
    }
  }
}

TEST(Vendor, PointwiseConvolutionIsAProduct) {
  Check(
      ConvText({.c = 24, .o = 40, .size = 13, .window = 1, .low = 0, .high = 0},
               2, "  %y = relu(%s)\n"));
}

TEST(Vendor, ReplaysOfSeveralThreadsAgreeBitByBit) {
  const StatusOr<Graph> graph = ParseGraph(
      ConvText({.c = 64, .o = 96, .size = 14}, 2, "  %y = relu(%s)\n"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto arguments = RandomArguments(*graph, 11);
  const runtime::CompiledGraph compiled = CompileForced(*graph);
  const auto first = Replay(*graph, compiled, AllBackends(), arguments);
  ASSERT_TRUE(first.ok()) << first.status();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 3; ++i) {
        const auto again = Replay(*graph, compiled, AllBackends(), arguments);
        EXPECT_TRUE(again.ok() && *again == *first);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Nobody but this thread is left: OpenMP, which keeps its threads, made none.
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  EXPECT_EQ(std::distance(begin(tasks), end(tasks)), 1);
}

// Threads that ask the library for the same and for different things get what
// one gets that asks alone.
TEST(Vendor, ThreadsMayCompileAtOnce) {
  std::vector<Graph> graphs;
  for (const int64_t k : {33, 65, 129}) {
    graphs.push_back(*ParseGraph(Dot(17, k, 41, "  %y = neg(%d)\n")));
  }
  std::vector<std::vector<std::byte>> at_once(12);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < at_once.size(); ++t) {
    threads.emplace_back([&, t] {
      at_once[t] = runtime::SerializeCompiledGraph(
          CompileForced(graphs[t % graphs.size()]));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < at_once.size(); ++t) {
    const runtime::CompiledGraph alone =
        CompileForced(graphs[t % graphs.size()]);
    EXPECT_EQ(VendorPrograms(alone), 1);
    EXPECT_EQ(at_once[t], runtime::SerializeCompiledGraph(alone)) << t;
  }
}

TEST(Vendor, EqualProgramsShareTheirPrimitives) {
  const StatusOr<Graph> graph = ParseGraph(Dot(48, 48, 48, "  %y = neg(%d)\n"));
  const runtime::CompiledGraph compiled = CompileForced(*graph);
  const auto load = [&] {
    runtime::ThreadPool pool(1);
    std::vector<std::unique_ptr<runtime::Kernel>> kernels;
    auto device = CpuBackend()->NewDevice(0);
    for (const runtime::KernelBinary& program : compiled.kernel_binaries) {
      runtime::LoadRequest request{&program, {}};
      if (program.artifact.valid()) {
        request.artifact = compiled.blobs[program.artifact.value()].bytes;
      }
      auto loaded = (*device)->Load({&request, 1}, &pool);
      EXPECT_TRUE(loaded.ok()) << loaded.status();
      if (loaded.ok()) kernels.push_back(std::move((*loaded)[0]));
    }
    return kernels;
  };
  const auto one = load();
  const VendorCounts counts = CountVendorPrimitives();
  EXPECT_GT(counts.alive, 0);
  const auto two = load();
  EXPECT_EQ(CountVendorPrimitives().made, counts.made);
}

// The rates of a committed class, so that what is chosen does not depend on the
// CPU that tests run on, which the vendor's library is for.
std::string Zen4Here() {
  const CpuInfo& cpu = HostCpu();
  return ToText(AsIf(*FindMachineClass(StrCat("zen4-", Name(cpu.isa))), cpu));
}

TEST(Vendor, CostsComeFromATableThatNamesEveryClass) {
  for (const MachineProfile& machine : MachineClasses()) {
    for (int i = 0; i < kShapeClasses; ++i) {
      const auto shape = static_cast<ShapeClass>(i);
      EXPECT_NE(FindVendorCosts(machine, shape), nullptr)
          << machine.name << " " << Name(shape);
    }
  }
}

// What is small is not worth its primitives, whatever the table says.
TEST(Vendor, IsChosenOnlyWhereItSavesMoreThanItCostsToLoad) {
  for (const auto& [size, chosen] : {std::pair{4, false}, {14, true}}) {
    const int64_t channels = chosen ? 512 : 16;
    const StatusOr<Graph> graph = ParseGraph(ConvText(
        {.c = channels, .o = channels, .size = size}, 2, "  %y = relu(%s)\n"));
    CompileOptions options;
    options.deterministic = true;
    options.rewrites = Rewrites::kExact;  // beside kernels of the same sums
    options.machine = Zen4Here();
    const auto compiled = Compile(*graph, options, AllBackends());
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_EQ(VendorPrograms(*compiled), chosen ? 1 : 0);
  }
}

// What was measured to be at least a tenth faster on both instruction sets
// (RESULTS.md) is chosen.
TEST(Vendor, TheChosenKernelIsTheOneThatWasMeasuredToBeFaster) {
  struct Measured {
    Conv conv;
    int spatial;
    bool vendor;
  };
  const std::vector<Measured> cases = {
      {{.c = 256, .o = 256, .size = 14}, 2, true},
      {{.c = 512, .o = 512, .size = 7}, 2, true},
      {{.c = 3,
        .o = 64,
        .size = 224,
        .window = 7,
        .stride = 2,
        .low = 3,
        .high = 3},
       2,
       true},
      {{.c = 8, .o = 1, .size = 200, .window = 5, .low = 2, .high = 2},
       2,
       false},
      {{.c = 64, .o = 3, .size = 100}, 2, false},
      {{.c = 128, .o = 128, .size = 1000}, 1, false},
      {{.c = 192, .o = 192, .size = 28, .groups = 192}, 2, false},
      {{.c = 3, .o = 32, .size = 300}, 2, false},
      {{.c = 64,
        .o = 128,
        .size = 40,
        .window = 1,
        .stride = 2,
        .low = 0,
        .high = 0},
       2,
       false},
  };
  for (const Measured& measured : cases) {
    const std::string text =
        ConvText(measured.conv, measured.spatial, "  %y = relu(%s)\n");
    SCOPED_TRACE(text);
    const StatusOr<Graph> graph = ParseGraph(text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    CompileOptions options;
    options.deterministic = true;
    options.rewrites = Rewrites::kExact;  // beside kernels of the same sums
    options.machine = Zen4Here();
    const auto compiled = Compile(*graph, options, AllBackends());
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_EQ(VendorPrograms(*compiled), measured.vendor ? 1 : 0);
  }
}

TEST(Vendor, DamagedParamsAreRejectedOrHarmless) {
  const StatusOr<Graph> graph =
      ParseGraph(ConvText({}, 2, "  %y = relu(%s)\n"));
  const runtime::CompiledGraph compiled = CompileForced(*graph);
  for (const runtime::KernelBinary& program : compiled.kernel_binaries) {
    if (!IsVendor(program.params)) continue;
    for (size_t size = 0; size < program.params.size(); ++size) {
      EXPECT_FALSE(
          DecodeVendor(std::span(program.params).subspan(0, size)).ok());
    }
    for (size_t bit = 0; bit < program.params.size() * 8; ++bit) {
      std::vector<std::byte> damaged = program.params;
      damaged[bit / 8] ^= std::byte(1 << bit % 8);
      const auto decoded = DecodeVendor(damaged);
      if (!decoded.ok()) continue;
      // What can be read has the one encoding that it was read from.
      EXPECT_EQ(Encode(decoded->program, decoded->packs), damaged) << bit;
      EXPECT_GT(BytesNeeded(decoded->program.source), 0);
    }
  }
}

}  // namespace
}  // namespace encore::backends::cpu
