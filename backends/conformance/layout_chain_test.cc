// Layouts that a candidate asks for (backend.h): a backend that wants its
// elementwise kernels in blocks, and a chain of kernels in those layouts.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/conformance/blocking_backend.h"
#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/kernel_run.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/options.h"
#include "encore/backends/region/packed_literal.h"
#include "encore/backends/region/relayout.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/parser.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

CompileOptions Options(const Backend& backend) {
  CompileOptions options;
  options.target = backend.name();
  options.cpu_kernels = CpuKernels::kGenerated;
  return options;
}

// The output of a kernel with one, which must keep zeros in its padding.
Literal RunOne(const Backend& backend, const Region& region,
               const Candidate& candidate, const std::vector<Literal>& inputs,
               bool in_place = false) {
  const KernelRequest request{
      &region, std::vector<bool>(region.inputs.size()), {}};
  const auto results =
      RunKernel(backend, {request, candidate}, inputs, {}, in_place);
  EXPECT_TRUE(results.ok()) << results.status();
  if (!results.ok()) return {};
  const Operand& output = region.outputs[0];
  EXPECT_EQ(CountStray((*results)[0], Shape(output.dims).ConstantDims(),
                       output.layout),
            0);
  return (*results)[0];
}

// Between layouts, by the backend's kernel for that.
Literal Convert(const Backend& backend, const Operand& tensor, const Layout& to,
                const Literal& value) {
  const Region copy = CopyRegion(tensor.dtype, tensor.dims, tensor.layout, to);
  const KernelRequest request{&copy, {false}, {}};
  const auto candidates = backend.Candidates(request, Options(backend));
  return RunOne(backend, copy, candidates.front(), {value});
}

// Of the graphs of one node: x and z, or x alone, are f32[2,channels,3,5].
std::string TextOf(std::string_view op, int arguments, int channels) {
  const std::string type = StrCat("f32[2,", channels, ",3,5]");
  return StrCat("graph g(%x: ", type, arguments > 1 ? ", %z: " : "",
                arguments > 1 ? type : "", ") -> ", type, " {\n  %y = ", op,
                arguments > 1 ? "(%x, %z)" : "(%x)", "\n  return %y\n}");
}

class LayoutChainTest : public testing::TestWithParam<std::string> {
 protected:
  const Backend& inner() { return **FindBackend(GetParam()); }
};

// pack -> three elementwise kernels in blocks, each over the one before ->
// unpack, by what the candidates say.
TEST_P(LayoutChainTest, ElementwiseKernelsInBlocks) {
  for (const int channels : {3, 17, 24}) {
    for (const int64_t block : {8, 16}) {
      SCOPED_TRACE(StrCat(channels, " in blocks of ", block));
      const Blocking backend(inner(), block);
      const std::vector<int64_t> dims = {2, channels, 3, 5};
      const Literal x = RandomLiteral(DType::kF32, dims, 1);
      Operand at = {DType::kF32, {dims.begin(), dims.end()}, {}};
      Literal value = x;
      for (const auto& [op, arguments] :
           {std::pair{"add", 2}, {"logistic", 1}, {"mul", 2}}) {
        const auto graph = ParseGraph(TextOf(op, arguments, channels));
        ASSERT_TRUE(graph.ok()) << graph.status();
        const BuiltRegion built = BuildWhole(*graph);
        const KernelRequest request{
            &built.region, std::vector<bool>(arguments), {}};
        const auto candidates = backend.Candidates(request, Options(backend));
        const Candidate& best = candidates.back();
        ASSERT_EQ(best.inputs.size(), arguments);
        const auto region =
            WithLayouts(built.region, best.inputs, best.outputs);
        ASSERT_TRUE(region.ok()) << region.status();
        const auto blocked = backend.Candidates(
            {&*region, std::vector<bool>(arguments), {}}, Options(backend));
        ASSERT_TRUE(blocked[0].inputs.empty());
        if (at.layout != best.inputs[0]) {
          value = Convert(backend, at, best.inputs[0], value);
        }
        std::vector<Literal> inputs(arguments, value);
        value = RunOne(backend, *region, blocked[0], inputs, /*in_place=*/true);
        at.layout = best.outputs[0];
      }
      EXPECT_FALSE(at.layout.is_row_major());
      value = Convert(backend, at, {}, value);
      const std::string type = StrCat("f32[2,", channels, ",3,5]");
      const auto whole = ParseGraph(StrCat(
          "graph g(%x: ", type, ") -> ", type,
          " {\n  %a = add(%x, %x)\n  %b = logistic(%a)\n  %c = mul(%b, %b)\n  "
          "return %c\n}"));
      ASSERT_TRUE(whole.ok()) << whole.status();
      const auto bounds = EvaluateBounds(*whole, {{x}});
      ASSERT_TRUE(bounds.ok()) << bounds.status();
      const auto difference = Difference(value, (*bounds)[0]);
      EXPECT_FALSE(difference.has_value()) << *difference;
    }
  }
}

// How the launches of a compiled graph's run read and write: with values in
// blocks in the place of slots of bytes.
struct LaunchCounts {
  int all = 0, pack = 0, unpack = 0, within = 0;
};
LaunchCounts CountLaunches(const runtime::CompiledGraph& compiled) {
  LaunchCounts counts;
  for (const runtime::Step& step : compiled.plan(compiled.run).steps) {
    const auto* launch = std::get_if<runtime::Launch>(&step.op);
    if (launch == nullptr) continue;
    const auto blocked = [&](const std::vector<runtime::SlotId>& slots) {
      return std::ranges::any_of(slots, [&](runtime::SlotId slot) {
        return compiled.slot(slot).type.dtype == DType::kU8;
      });
    };
    ++counts.all;
    const bool reads = blocked(launch->reads), writes = blocked(launch->writes);
    counts.pack += writes && !reads;
    counts.unpack += reads && !writes;
    counts.within += reads && writes;
  }
  return counts;
}

// What lowering makes of the text for `backend`, node by node; its results are
// right.
LaunchCounts CountLaid(const Backend& backend, const std::string& text,
                       Optimizer optimizer = Optimizer::kEGraph) {
  const Backend* const backends[] = {&backend};
  const auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  CompileOptions options = Options(backend);
  options.fuse = false;
  options.optimizer = optimizer;
  options.rewrites = Rewrites::kNone;
  const auto compiled = Compile(*graph, options, backends);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  const std::vector<Literal> arguments = RandomArguments(*graph, 1);
  const auto results = Replay(*graph, *compiled, backends, arguments);
  EXPECT_TRUE(results.ok()) << results.status();
  const auto bounds = EvaluateBounds(*graph, arguments);
  EXPECT_TRUE(bounds.ok()) << bounds.status();
  const auto difference = Difference(*results, *bounds);
  EXPECT_FALSE(difference.has_value()) << *difference;
  return CountLaunches(*compiled);
}

constexpr char kChain[] = R"(
graph chain(%x: f32[2,32,13,15], %z: f32[2,32,13,15]) {
  %a = add(%x, %z)
  %b = logistic(%a)
  %c = mul(%b, %a)
  %d = tanh(%c)
  %e = exp(%d)
  %f = add(%e, %b)
  %g = reshape(%f) {shape = [64,195]}
  return %c, %g
})";

// The first brings what it reads into blocks, the others stay there, and what
// is read outside of kernels is unpacked once each.
TEST_P(LayoutChainTest, LoweringKeepsALayoutAlongAChain) {
  const Blocking backend(inner(), 8);
  const LaunchCounts plain = CountLaid(backend, kChain, Optimizer::kGreedy);
  EXPECT_EQ(plain.all, 6);
  EXPECT_EQ(plain.pack + plain.unpack + plain.within, 0);
  const LaunchCounts laid = CountLaid(backend, kChain);
  EXPECT_EQ(laid.pack, 1);
  EXPECT_EQ(laid.within, 5);
  EXPECT_EQ(laid.unpack, 2);
}

// A kernel between two that gain nothing is not worth the way there and back.
TEST_P(LayoutChainTest, LoweringLeavesRowMajorWhatBlocksDoNotPayFor) {
  const Blocking backend(inner(), 8);
  const LaunchCounts laid = CountLaid(backend, R"(
graph one(%x: f32[2,32,13,15]) {
  %y = neg(%x)
  return %y
})");
  EXPECT_EQ(laid.all, 1);
  EXPECT_EQ(laid.pack + laid.unpack + laid.within, 0);
}

// Channels that fill no block stay as they are.
TEST_P(LayoutChainTest, LoweringTakesWhatFitsOnly) {
  const Blocking backend(inner(), 8);
  const auto text = [](int channels) {
    return StrCat("graph odd(%x: f32[1,", channels, ",9,9]) {\n",
                  "  %a = exp(%x)\n  %b = tanh(%a)\n  %c = logistic(%b)\n",
                  "  %d = exp(%c)\n  return %d\n}");
  };
  EXPECT_GT(CountLaid(backend, text(24)).within, 0);
  CountLaid(backend, text(17));  // with padding; the results are right
}

// A batch that is known at the launch only, around channels in blocks.
TEST_P(LayoutChainTest, SizesThatAreFoundOut) {
  const std::vector<Dim> dims = {Dim::OfSymbol(0), 17, 5};
  const Layout blocked = {.order = {2, 0, 1}, .blocks = {{1, 16}}};
  const std::vector<Symbol> symbols = {{.name = "n", .lower = 0, .upper = 64}};
  for (const int64_t n : {0, 1, 3}) {
    const Literal x = RandomLiteral(DType::kF32, {n, 17, 5}, 7);
    Literal value = x;
    for (const auto& [from, to] :
         {std::pair{Layout(), blocked}, {blocked, Layout()}}) {
      const Region region = CopyRegion(DType::kF32, dims, from, to);
      const KernelRequest request{&region, {false}, symbols};
      const auto candidates = inner().Candidates(request, Options(inner()));
      for (const Candidate& candidate : candidates) {
        SCOPED_TRACE(candidate.kernel);
        const auto results =
            RunKernel(inner(), {request, candidate}, {{value}}, {{n}});
        ASSERT_TRUE(results.ok()) << results.status();
        const Literal expected = to.is_row_major() ? x : Pack(x, to);
        EXPECT_EQ((*results)[0], expected);
      }
      value = to.is_row_major() ? x : Pack(x, to);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, LayoutChainTest,
                         testing::Values("ref", "cpu"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace encore::backends
