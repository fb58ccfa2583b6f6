#include "encore/backends/compile.h"

#include <algorithm>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/conformance/compiled_check.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/options.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "encore/runtime/plan/compiled_graph_text.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

// Compiles for `options`, replays, and compares with the evaluator bit by bit.
void ExpectEqual(const std::string& text, const CompileOptions& options,
                 const std::vector<Literal>& arguments) {
  const Graph graph = ParsedGraph(text);
  StatusOr<std::vector<Literal>> expected = Evaluate(graph, arguments);
  ASSERT_TRUE(expected.ok()) << expected.status();
  StatusOr<runtime::CompiledGraph> compiled =
      Compile(graph, options, AllBackends());
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  StatusOr<std::vector<Literal>> results =
      Replay(graph, *compiled, AllBackends(), arguments);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(*results, *expected);
}

int CountLaunches(const runtime::CompiledGraph& compiled) {
  int launches = 0;
  for (const runtime::Step& step : compiled.plan(compiled.run).steps) {
    launches += std::holds_alternative<runtime::Launch>(step.op);
  }
  return launches;
}

CompileOptions Ref() {
  CompileOptions options;
  options.target = "ref";
  return options;
}

constexpr char kMlp[] = R"(
graph mlp(%x: f32[2,3], %w: param f32[3,2], %b: param f32[2]) -> f32[2,2] {
  %s = add(%b, %b)
  %d = dot_general(%x, %w) {contract = [1]x[0]}
  %bb = broadcast(%s) {shape = [2,2], axes = [1]}
  %y = add(%d, %bb)
  return %y
})";

std::vector<Literal> MlpArguments() {
  return {Literal::FromValues<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
          Literal::FromValues<float>({3, 2}, {1, 0, 0, 1, 1, 1}),
          Literal::FromValues<float>({2}, {10, 20})};
}

// Options that a backend says it does not use reach nothing that is compiled,
// and so no key.
TEST(UsedOptions, TheOthersChangeNothing) {
  const Graph graph = ParsedGraph(kMlp);
  for (const Backend* backend : AllBackends()) {
    CompileOptions plain;
    plain.target = backend->name();
    plain.threads = 2;
    CompileOptions all = plain;
    all.precision = Precision::kBF16;
    all.rewrites = Rewrites::kFast;
    all.cpu_kernels = CpuKernels::kGenerated;
    all.ports = Ports::kDevice;
    std::vector<std::string> unused;
    const CompileOptions used = UsedOptions(all, &unused);
    EXPECT_FALSE(unused.empty());
    for (const std::string& name : unused) {
      EXPECT_FALSE(backend->Uses(name)) << backend->name() << " " << name;
    }
    EXPECT_EQ(used.target, all.target);
    EXPECT_EQ(used.threads,
              backend->Uses("threads") ? 2 : CompileOptions().threads);
    const auto a = Compile(graph, all, AllBackends());
    const auto b = Compile(graph, used, AllBackends());
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(runtime::SerializeCompiledGraph(*a),
              runtime::SerializeCompiledGraph(*b));
    if (!backend->Uses("threads")) plain.threads = CompileOptions().threads;
    EXPECT_EQ(UsedOptions(plain, &unused), plain);
  }
}

TEST(UsedOptions, APlacementBringsInEveryBackend) {
  CompileOptions options = Ref();
  options.cpu_kernels = CpuKernels::kGenerated;
  std::vector<std::string> unused;
  EXPECT_EQ(UsedOptions(options, &unused), Ref());
  EXPECT_EQ(unused, std::vector<std::string>{"cpu_kernels"});
  options.placement = "x=cpu";
  unused.clear();
  EXPECT_EQ(UsedOptions(options, &unused), options);
  EXPECT_TRUE(unused.empty());
  options.target = "tpu";
  EXPECT_EQ(UsedOptions(options, &unused), options);
}

TEST(CheckUsed, RefusesWhatTheTableSays) {
  for (const Backend* backend : AllBackends()) {
    CompileOptions options;
    options.target = backend->name();
    EXPECT_TRUE(CheckUsed(options).ok());
    options.cpu_kernels = CpuKernels::kVendor;  // left, with a line in the log
    EXPECT_TRUE(CheckUsed(options).ok());
    options.precision = Precision::kBF16;
    const Status precision = CheckUsed(options);
    if (backend->Uses("precision")) {
      EXPECT_TRUE(precision.ok()) << precision;
    } else {
      EXPECT_EQ(precision.code(), StatusCode::kInvalidArgument);
      EXPECT_EQ(Message(precision), "--precision bf16: target " +
                                        options.target +
                                        " would ignore it; it accepts f32");
    }
    options.precision = Precision::kF32;
    options.rewrites = Rewrites::kFast;
    EXPECT_TRUE(CheckUsed(options).ok());
  }
  CompileOptions absent;
  absent.target = "tpu";
  absent.precision = Precision::kBF16;
  EXPECT_TRUE(CheckUsed(absent).ok());
}

// A row of products whose first is large unless they come in another order.
TEST(CompileTest, RewritesAreMadeWhereTheyAreAllowed) {
  const std::string chain = R"(
graph chain(%a: f32[64,64], %b: f32[64,64], %x: f32[64,1]) -> f32[64,1] {
  %0 = dot_general(%a, %b) {contract = [1]x[0]}
  %y = dot_general(%0, %x) {contract = [1]x[0]}
  return %y
})";
  std::vector<Literal> arguments;  // small integers: sums are exact
  for (const int64_t columns : {64, 64, 1}) {
    Literal& literal =
        arguments.emplace_back(DType::kF32, std::vector<int64_t>{64, columns});
    for (int64_t i = 0; i < literal.element_count(); ++i) {
      literal.SetInt(i, i % 7 - 3);
    }
  }
  for (const Backend* backend : AllBackends()) {
    CompileOptions options;
    options.target = backend->name();
    options.rewrites = Rewrites::kNone;
    const auto plain = Compile(ParsedGraph(chain), options, AllBackends());
    const bool is_there = backend->NewDevice(0).ok();
    if (is_there) ExpectEqual(chain, options, arguments);
    options.rewrites = Rewrites::kExact;
    const auto exact = Compile(ParsedGraph(chain), options, AllBackends());
    options.rewrites = Rewrites::kReassociate;
    const auto reordered = Compile(ParsedGraph(chain), options, AllBackends());
    ASSERT_TRUE(plain.ok() && exact.ok() && reordered.ok());
    EXPECT_EQ(runtime::SerializeCompiledGraph(*plain),
              runtime::SerializeCompiledGraph(*exact));
    EXPECT_NE(runtime::SerializeCompiledGraph(*plain),
              runtime::SerializeCompiledGraph(*reordered));
    if (is_there) ExpectEqual(chain, options, arguments);
  }
}

TEST(CompileTest, FusesAndFoldsWeights) {
  ExpectEqual(kMlp, Ref(), MlpArguments());
  StatusOr<runtime::CompiledGraph> compiled =
      Compile(ParsedGraph(kMlp), Ref(), AllBackends());
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_TRUE(compiled->prepare.valid());
  EXPECT_EQ(CountLaunches(*compiled), 1);
}

TEST(CompileTest, WithoutFusionTheSame) {
  CompileOptions options = Ref();
  options.fuse = false;
  ExpectEqual(kMlp, options, MlpArguments());
}

TEST(CompileTest, ReshapesAreViewsAndOutputsMayShareAValue) {
  ExpectEqual(R"(
graph views(%x: f32[2,3]) -> (f32[6], f32[3,2], f32[2,3], f32[2,3]) {
  %a = reshape(%x) {shape = [6]}
  %b = neg(%x)
  %c = reshape(%b) {shape = [3,2]}
  return %a, %c, %b, %x
})",
              Ref(), {Literal::FromValues<float>({2, 3}, {1, 2, 3, 4, 5, 6})});
}

TEST(CompileTest, BothBranchesOfAnIf) {
  constexpr char kIf[] = R"(
graph control(%c: bool[], %x: f32[2]) -> f32[2] {
  %p = neg(%x)
  %y = if(%c, %p)
    graph then(%a: f32[2]) -> f32[2] {
      %s = add(%a, %a)
      return %s
    }
    graph else(%a: f32[2]) -> f32[2] {
      return %a
    }
  %z = abs(%y)
  return %z
})";
  for (const bool taken : {false, true}) {
    ExpectEqual(kIf, Ref(),
                {Literal::Scalar<bool>(taken),
                 Literal::FromValues<float>({2}, {1, -2})});
  }
}

TEST(CompileTest, AWhileCarriesItsValues) {
  ExpectEqual(R"(
graph count(%n: i64[], %x: i64[]) -> (i64[], i64[]) {
  %m, %y = while(%n, %x)
    graph more(%a: i64[], %b: i64[]) -> bool[] {
      %z = constant() {value = i64[] 0}
      %c = compare(%a, %z) {direction = gt}
      return %c
    }
    graph next(%a: i64[], %b: i64[]) -> (i64[], i64[]) {
      %o = constant() {value = i64[] 1}
      %d = sub(%a, %o)
      %e = add(%b, %a)
      return %d, %e
    }
  return %m, %y
})",
              Ref(),
              {Literal::Scalar<int64_t>(5), Literal::Scalar<int64_t>(7)});
}

TEST(CompileTest, CompositesAreOneKernel) {
  constexpr char kNorm[] = R"(
graph norm(%x: f32[2,4], %s: param f32[4], %b: param f32[4]) -> f32[2,4] {
  %y = layer_norm(%x, %s, %b) {axis = 1}
  %z = relu(%y)
  return %z
})";
  StatusOr<runtime::CompiledGraph> compiled =
      Compile(ParsedGraph(kNorm), Ref(), AllBackends());
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_EQ(CountLaunches(*compiled), 1);
}

// Attention over keys of which one is new: the cache that they lie in is
// updated in place, whether the product reads it as it is or transposed, as
// models have it.
TEST(CompileTest, ACacheIsUpdatedInPlaceBesideTheAttentionThatReadsIt) {
  for (const char* product :
       {"  %s = dot_general(%q, %k) {contract = [2]x[2], batch = [0]x[0]}\n",
        "  %kt = transpose(%k) {permutation = [0,2,1]}\n"
        "  %s = dot_general(%q, %kt) {contract = [2]x[1], batch = "
        "[0]x[0]}\n"}) {
    SCOPED_TRACE(product);
    const Graph graph = ParsedGraph(StrCat(R"(
graph attention(%q: f32[4,8,64], %c: f32[4,256,64], %n: f32[4,1,64], %v: f32[4,256,64]) -> (f32[4,8,64], f32[4,256,64]) {
  %i = constant() {value = i64[3] [0, 100, 0]}
  %k = dynamic_update_slice(%c, %n, %i)
)",
                                           product, R"(
  %m = reduce(%s) {axes = [2], combiner = max}
  %mb = broadcast(%m) {shape = [4,8,256], axes = [0,1]}
  %d = sub(%s, %mb)
  %e = exp(%d)
  %l = reduce(%e) {axes = [2]}
  %lb = broadcast(%l) {shape = [4,8,256], axes = [0,1]}
  %p = div(%e, %lb)
  %y = dot_general(%p, %v) {contract = [2]x[1], batch = [0]x[0]}
  return %y, %k
})"));
    CompileOptions options;
    options.threads = 2;
    options.target = "cpu:avx2";
    options.machine = "zen4-avx2";
    const auto compiled = Compile(graph, options, AllBackends());
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    int updates = 0;
    for (const runtime::Step& step : compiled->plan(compiled->run).steps) {
      const auto* const launch = std::get_if<runtime::Launch>(&step.op);
      if (launch == nullptr) continue;
      updates += std::ranges::any_of(launch->in_place, [&](const auto& pair) {
        return launch->reads[pair.read] == compiled->inputs[1] &&
               launch->writes[pair.write] == compiled->outputs[1];
      });
    }
    EXPECT_EQ(updates, 1) << runtime::CompiledGraphText(*compiled);
    ExpectRight(graph, *compiled);
  }
}

TEST(CompileTest, SymbolicSizes) {
  ExpectEqual(R"(
graph rows(%x: f32[N,2]) -> f32[N,2] {
  %y = neg(%x)
  return %y
})",
              Ref(), {Literal::FromValues<float>({3, 2}, {1, 2, 3, 4, 5, 6})});
}

TEST(CompileTest, NamesWhatIsThere) {
  CompileOptions options;
  options.target = "tpu";
  const Status status =
      Compile(ParsedGraph(kMlp), options, AllBackends()).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(Message(status).find("ref"), std::string::npos);
}

// Of the run plan.
int64_t ArenaBytes(const runtime::CompiledGraph& compiled) {
  int64_t bytes = 0;
  for (const runtime::Slot& slot : compiled.slots) {
    if (slot.is_arena) bytes += slot.bytes.constant();
  }
  return bytes;
}

// What fusion kernel by kernel sees no gain of: the functions of a row and of a
// column, each of few elements, are kernels of their own before the product.
TEST(CompileTest, RewritesAreJudgedByTheKernelsThatAreMade) {
  const Graph graph = ParsedGraph(R"(
graph g(%x: f32[256], %y: f32[512]) -> f32[512,256] {
  %0 = broadcast(%x) {shape = [512,256], axes = [1]}
  %1 = exp(%0)
  %2 = broadcast(%y) {shape = [512,256], axes = [0]}
  %3 = tanh(%2)
  %4 = mul(%1, %3)
  return %4
})");
  CompileOptions options;
  options.target = "cpu:avx2";
  options.machine = "zen4-avx2";
  options.threads = 2;
  for (const auto& [optimizer, kernels] :
       {std::pair(Optimizer::kGreedy, 1u), std::pair(Optimizer::kEGraph, 3u)}) {
    options.optimizer = optimizer;
    const auto compiled = Compile(graph, options, AllBackends());
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_EQ(compiled->kernel_binaries.size(), kernels);
  }
}

// Softmax of rows beyond the caches: no kernel keeps rows of its own, nor what
// it makes of one, where memory counts; where only time does, the exponentials
// are stored once.
TEST(CompileTest, LongRowsTakeNoMemoryWhereThatCounts) {
  const Graph graph = ParsedGraph(
      "graph g(%x: f32[32,4000000]) -> f32[32,4000000] {\n  %y = softmax(%x) "
      "{axis = 1}\n  return %y\n}");
  CompileOptions options;
  options.target = "cpu:avx2";
  options.machine = "zen4-avx2";
  options.threads = 2;
  options.cpu_kernels = CpuKernels::kGenerated;
  const auto compiled = Compile(graph, options, AllBackends());
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  constexpr int64_t kOnce = int64_t{32} * 4000000 * 4;
  EXPECT_GE(ArenaBytes(*compiled), kOnce);
  EXPECT_LE(ArenaBytes(*compiled), kOnce + 4096);
  options.memory = 1000;
  const auto small = Compile(graph, options, AllBackends());
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_LE(ArenaBytes(*small), 4096);
}

}  // namespace
}  // namespace encore::backends
