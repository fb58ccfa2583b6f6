// Loops and run-time sizes on each backend, against the evaluator.

#include <cmath>
#include <string>
#include <vector>

#include "encore/backends/conformance/late_backends.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/conformance/target_test.h"
#include "encore/ir/build/builder.h"
#include "encore/ir/eval/evaluator.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

using Values = std::vector<Value>;

class ControlFlow : public TargetTest {};

Literal Count(int64_t trips) { return Literal::Scalar<int64_t>(trips); }

// The trip count is an input: none, one and a thousand trips from one plan.
TEST_P(ControlFlow, LoopWithAnInputAsTripCount) {
  GraphBuilder g;
  const Value trips = g.Input("trips", {DType::kI64, {}});
  const Value start = g.Input("start", {DType::kI32, {3}});
  const Value step = g.Input("step", {DType::kI32, {3}});
  const Value operands[] = {start, step};
  const Dim count = g.Symbol("count", 0, 4096, /*at_run_time=*/true);
  const Values results =
      g.Loop(trips, g.Constant(Literal::Scalar(true)), operands,
             [](GraphBuilder& body, std::span<const Value> in) {
               const Value next = body.Add(in[2], in[3]);
               return Values{in[1], next, body.Mul(next, 2)};
             },
             {.carried = 1, .trips = {count}});
  const auto graph = g.Build({{"last", results[0]}, {"all", results[1]}});
  const auto arguments = [](int64_t trips) {
    return std::vector<Literal>{
        Count(trips), Literal::FromValues<int32_t>({3}, {1, 2, 3}),
        Literal::FromValues<int32_t>({3}, {1, 10, 100})};
  };
  ExpectEqual(graph, {arguments(0), arguments(1), arguments(1000)});
}

// What is computed from results of unknown length has an unknown length too.
TEST_P(ControlFlow, ConsumersOfStackedResults) {
  GraphBuilder g;
  const Value trips = g.Input("trips", {DType::kI64, {}});
  const Dim count = g.Symbol("count", 0, 64, /*at_run_time=*/true);
  const Values results =
      g.Loop(trips, g.Constant(Literal::Scalar(true)), {},
             [](GraphBuilder& body, std::span<const Value> in) {
               return Values{in[1], body.Mul(in[0], in[0])};
             },
             {.carried = 0, .trips = {count}});
  const Value squares = g.Add(results[0], 1);
  const auto graph =
      g.Build({{"sum", g.Sum(squares, {0})}, {"squares", squares}});
  ExpectEqual(graph, {{Count(0)}, {Count(5)}, {Count(1)}, {Count(64)}});
}

// The condition ends the loop: how many trips there are is data-dependent.
TEST_P(ControlFlow, LoopThatItsConditionEnds) {
  GraphBuilder g;
  const Value limit = g.Input("limit", {DType::kI64, {}});
  const Dim count = g.Symbol("count", 0, 64, /*at_run_time=*/true);
  const Value operands[] = {g.Scalar(DType::kI64, int64_t{1}), limit};
  const Values results = g.Loop(
      g.Scalar(DType::kI64, int64_t{40}), g.Constant(Literal::Scalar(true)),
      operands,
      [](GraphBuilder& body, std::span<const Value> in) {
        const Value next = body.Mul(in[2], 3);
        return Values{body.Compare(next, in[3], Comparison::kLt), next, in[2]};
      },
      {.carried = 1, .trips = {count}});
  const auto graph = g.Build({{"last", results[0]}, {"all", results[1]}});
  ExpectEqual(graph, {{Count(0)}, {Count(100)}, {Count(1 << 20)}});
}

TEST_P(ControlFlow, LoopWithoutStackedResults) {
  GraphBuilder g;
  const Value trips = g.Input("trips", {DType::kI64, {}});
  const Value condition = g.Input("condition", {DType::kBool, {}});
  const Value operands[] = {g.Input("x", {DType::kF32, {2}})};
  const Values results =
      g.Loop(trips, condition, operands,
             [](GraphBuilder& body, std::span<const Value> in) {
               return Values{in[1], body.Mul(in[2], 0.5)};
             },
             {.carried = 1});
  const auto graph = g.Build({{"y", results[0]}});
  const Literal x = Literal::FromValues<float>({2}, {8, -4});
  ExpectEqual(graph, {{Count(3), Literal::Scalar(true), x},
                      {Count(-1), Literal::Scalar(true), x},
                      {Count(3), Literal::Scalar(false), x}});
}

// Scans along inner dims, backward too, inside of a scan.
TEST_P(ControlFlow, NestedScans) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kI32, {2, 3, 4}});
  const Value offset = g.Input("offset", {DType::kI32, {}});
  const Value start = g.Full({2}, g.Scalar(DType::kI32, int64_t{0}));
  ScanAttrs outer;
  outer.carried = 1;
  outer.captures = 1;
  outer.scan_axes = {2, 1};
  outer.directions = {1, 0};
  const Value operands[] = {start, x, offset};
  const Values results = g.Scan(
      operands,
      [](GraphBuilder& body, std::span<const Value> in) {
        ScanAttrs inner;
        inner.carried = 1;
        inner.captures = 1;
        inner.scan_axes = {1, 0};
        inner.directions = {0, 1};
        const Value nested[] = {in[0], in[1], in[2]};
        return body.Scan(
            nested,
            [](GraphBuilder& b, std::span<const Value> row) {
              const Value sum = b.Add(row[0], b.Mul(row[1], row[2]));
              return Values{sum, b.Sub(sum, row[1])};
            },
            inner);
      },
      outer);
  const auto graph = g.Build({{"last", results[0]}, {"all", results[1]}});
  Literal data(DType::kI32, {2, 3, 4});
  for (int64_t i = 0; i < 24; ++i) data.SetInt(i, i * i % 17);
  ExpectEqual(graph, {{data, Literal::Scalar<int32_t>(3)}});
}

// Rows longer than what is sorted by counting go through a network of steps.
TEST_P(ControlFlow, LongRowsAreSorted) {
  for (const bool descending : {false, true}) {
    GraphBuilder g;
    const Value x = g.Input("x", {DType::kF32, {700, 2}});
    const auto graph = g.Build(
        {{"order", g.Node1(Op::kArgSort, {x}, ArgSortAttrs{0, descending})}});
    Literal data(DType::kF32, {700, 2});
    for (int64_t i = 0; i < 1400; ++i) {
      data.SetDouble(i, static_cast<double>(i * 7919 % 311) - 100);
    }
    data.SetDouble(77, NAN);
    ExpectEqual(graph, {{data}});
  }
}

// What bodies compute from weights alone is computed once.
TEST_P(ControlFlow, WeightsInBodiesAreDerived) {
  GraphBuilder g;
  const Value choice = g.Input("choice", {DType::kBool, {}});
  const Value x = g.Input("x", {DType::kF32, {2, 3}});
  const Value w =
      g.Parameter("w", {DType::kF32, {3, 2}},
                  Literal::FromValues<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  const Value operands[] = {x, w};
  const auto branch = [](double scale) {
    return [scale](GraphBuilder& body, std::span<const Value> in) {
      const Value flat = body.Reshape(body.Mul(in[1], scale), {6});
      const Value turned = body.Reshape(body.Reverse(flat, {0}), {3, 2});
      return Values{body.MatMul(in[0], turned)};
    };
  };
  const Values y = g.If(choice, operands, branch(2), branch(-1));
  const Values twice =
      g.Scan(std::vector<Value>{y[0], g.Iota(DType::kI32, {4}), w},
             [](GraphBuilder& body, std::span<const Value> in) {
               const Value square = body.MatMul(body.TransposeMatrix(in[2]),
                                                body.Add(in[2], 1.0));
               return Values{body.MatMul(in[0], body.Mul(square, 0.0625))};
             },
             {.carried = 1, .captures = 1});
  const auto graph = g.Build({{"y", twice[0]}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto compiled = CompileHere(*graph);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  ASSERT_TRUE(compiled->prepare.valid());
  // Two branches' weights and the scan's.
  EXPECT_GE(compiled->plan(compiled->prepare).steps.size(), 3u);
  const auto w_data = Literal::FromValues<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto data = Literal::FromValues<float>({2, 3}, {1, 0, -1, 2, 4, 8});
  ExpectEqual(graph, {{Literal::Scalar(true), data, w_data},
                      {Literal::Scalar(false), data, w_data}});
}

TEST_P(ControlFlow, AGuardEndsTheReplayWithItsMessage) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kI32, {3}});
  const Value limit = g.Input("limit", {DType::kI64, {}});
  const Value choice = g.Input("choice", {DType::kBool, {}});
  const Value operands[] = {x, limit};
  const Values y = g.If(
      choice, operands,
      [](GraphBuilder& body, std::span<const Value> in) {
        return Values{
            body.Add(body.Node1(Op::kAssertion, {in[0], body.Sub(in[1], 4)},
                                AssertionAttrs{"the limit is below 5"}),
                     1)};
      },
      [](GraphBuilder&, std::span<const Value> in) { return Values{in[0]}; });
  const auto graph = g.Build({{"y", y[0]}});
  const auto data = Literal::FromValues<int32_t>({3}, {1, 2, 3});
  const Literal yes = Literal::Scalar(true), no = Literal::Scalar(false);
  ExpectEqual(graph, {{data, Count(5), yes}, {data, Count(4), no}});
  const auto compiled = CompileHere(*graph);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const std::vector<Literal> bad = {data, Count(4), yes};
  for (const Status& status :
       {Replay(*graph, *compiled, BackendsUnderTest(), bad).status(),
        Evaluate(*graph, bad).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
    EXPECT_NE(Message(status).find("the limit is below 5"), std::string::npos);
  }
}

// Sizes that are data, in the attributes of ops that do not read them.
TEST_P(ControlFlow, GuardsOrderWhatUsesASize) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kI32, {24}});
  const Value dims = g.Input("dims", {DType::kI64, {2}});
  const Dim rows = g.Symbol("rows", 0, 24, /*at_run_time=*/true);
  const Dim columns = g.Symbol("columns", 0, 24, /*at_run_time=*/true);
  const auto dim = [&](int64_t i) {
    return g.Reshape(g.SliceAxis(dims, 0, i, i + 1), {});
  };
  const Value fits = g.Cast(
      g.Compare(g.Mul(dim(0), dim(1)), 24, Comparison::kEq), DType::kI64);
  const std::string message = "24 elements have another shape";
  g.DefineSymbols(g.Assert(g.Mul(dims, fits), fits, message), {rows, columns},
                  message);
  const Value known = g.Assert(x, fits, message);
  const Value y = g.Reshape(known, {rows, columns});
  const auto graph = g.Build(
      {{"turned", g.Transpose(g.Mul(y, 3), {1, 0})}, {"sum", g.Sum(y, {1})}});
  Literal data(DType::kI32, {24});
  for (int64_t i = 0; i < 24; ++i) data.SetInt(i, i * i);
  const auto shaped = [&](int64_t a, int64_t b) {
    return std::vector<Literal>{data,
                                Literal::FromValues<int64_t>({2}, {a, b})};
  };
  ExpectEqual(graph, {shaped(4, 6), shaped(24, 1), shaped(3, 8)});
  const auto compiled = CompileHere(*graph);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  for (const auto& bad : {shaped(5, 5), shaped(-4, -6), shaped(48, 0)}) {
    EXPECT_FALSE(Replay(*graph, *compiled, BackendsUnderTest(), bad).ok());
  }
}

// What was computed and lies in an arena takes a shape whose bound is larger.
TEST_P(ControlFlow, ComputedValuesTakeAShapeThatIsFoundOut) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kI32, {24}});
  const Value n = g.Input("n", {DType::kI64, {}});
  const Dim rows = g.Symbol("rows", 0, 24, /*at_run_time=*/true);
  const Dim columns = g.Symbol("columns", 0, 24, /*at_run_time=*/true);
  const Value rest = g.Div(24, g.Max(n, 1));
  const Value fits = g.Compare(g.Mul(n, rest), 24, Comparison::kEq);
  g.DefineSymbols(n, {rows});
  g.DefineSymbols(rest, {columns});
  const Value known =
      g.Assert(g.Cumulative(x, {Combiner::kSum, 0, false, false}), fits,
               "24 elements have another shape");
  const Value y = g.Reshape(known, {rows, columns});
  const auto graph =
      g.Build({{"running", g.Cumulative(y, {Combiner::kSum, 1, false, false})},
               {"y", y}});
  Literal data(DType::kI32, {24});
  for (int64_t i = 0; i < 24; ++i) data.SetInt(i, i * i);
  ExpectEqual(graph, {{data, Count(4)}, {data, Count(24)}, {data, Count(1)}});
}

// The first `n` rows of x, an i32[1200, 6], whose number is data-dependent.
Value FirstRows(GraphBuilder& g, Value x, Value n, const Dim& rows) {
  g.DefineSymbols(n, {rows});
  return g.Slice(x, {0, 0}, {rows, 6});
}

// Two sizes that must be equal are one; where they are not, or are out of
// bounds, the run still ends with an error.
TEST_P(ControlFlow, SizesThatAreAssertedEqual) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kI32, {64, 6}});
  const Value n = g.Input("n", {DType::kI64, {}});
  const Value m = g.Input("m", {DType::kI64, {}});
  const Dim rows = g.Symbol("rows", 0, 64, /*at_run_time=*/true);
  const Dim others = g.Symbol("others", 0, 50, /*at_run_time=*/true);
  g.DefineSymbols(n, {rows});
  g.DefineSymbols(m, {others});
  const Value a = g.Slice(x, {0, 0}, {rows, 6});
  const Value b = g.Cumulative(g.Slice(x, {0, 0}, {others, 6}),
                               {Combiner::kSum, 0, false, false});
  const Value y = g.Add(a, g.Reshape(b, {rows, 6}));
  const auto graph = g.Build({{"y", y}, {"sum", g.Sum(y, {0})}});
  Literal data(DType::kI32, {64, 6});
  for (int64_t i = 0; i < data.element_count(); ++i) data.SetInt(i, i % 97);
  const auto call = [&](int64_t a, int64_t b) {
    return std::vector<Literal>{data, Count(a), Count(b)};
  };
  ExpectEqual(graph, {call(5, 5), call(0, 0), call(50, 50)});
  const auto compiled = CompileHere(*graph);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  for (const auto& bad : {call(5, 6), call(6, 5), call(51, 51), call(-1, -1)}) {
    EXPECT_FALSE(Replay(*graph, *compiled, BackendsUnderTest(), bad).ok());
  }
}

// Every template of kernel on data-dependent sizes, vectors' tails and
// several partitions among them.
TEST_P(ControlFlow, KernelsOfRunTimeSizes) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kI32, {1200, 6}});
  const Value w = g.Input("w", {DType::kI32, {6, 5}});
  const Value n = g.Input("n", {DType::kI64, {}});
  const Dim rows = g.Symbol("rows", 0, 1200, /*at_run_time=*/true);
  const Value part = FirstRows(g, x, n, rows);
  const Value turned = g.Transpose(part, {1, 0});
  const Value sums = g.Sum(part, {1});
  const Value column = g.Reshape(sums, {rows, 1});
  const Value reversed =
      g.Sub(g.Sub(g.DimValues({rows}), 1), g.Iota(DType::kI64, {rows}));
  const auto graph = g.Build({
      {"chain", g.Mul(g.Add(part, 7), g.Max(part, 3))},
      {"broadcast", g.Add(part, column)},
      {"row_sums", sums},
      {"column_sums", g.Sum(part, {0})},
      {"turned", g.Mul(turned, 3)},
      {"flat", g.Add(g.Reshape(part, {rows * Dim(6)}), 1)},
      {"wide", g.Concat({part, g.Mul(part, 2)}, 1)},
      {"long", g.Concat({part, part}, 0)},
      {"inner", g.Slice(part, {0, 1}, {rows, 5}, {1, 2})},
      {"padded", g.Pad(part, 9, {2, 0}, {1, 3})},
      {"taken", g.Take(part, reversed, 0)},
      {"product", g.MatMul(part, w)},
      {"square", g.MatMul(turned, part)},
      {"largest", g.ArgReduce(part, {Combiner::kMax, 1, false, DType::kI64})},
      {"running", g.Cumulative(turned, {Combiner::kSum, 1, false, false})},
  });
  Literal data(DType::kI32, {1200, 6}), weights(DType::kI32, {6, 5});
  for (int64_t i = 0; i < 7200; ++i) data.SetInt(i, i * 7919 % 101 - 50);
  for (int64_t i = 0; i < 30; ++i) weights.SetInt(i, i % 7 - 3);
  std::vector<std::vector<Literal>> calls;
  for (const int64_t count : {5, 0, 1, 16, 37, 1200}) {
    calls.push_back({data, weights, Count(count)});
  }
  ExpectEqual(graph, calls);
}

// Trips see parts, and give parts, of a data-dependent size.
TEST_P(ControlFlow, PartsOfRunTimeSize) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kI32, {1200, 6}});
  const Value n = g.Input("n", {DType::kI64, {}});
  const Value trips = g.Input("trips", {DType::kI64, {}});
  const Dim rows = g.Symbol("rows", 0, 1200, /*at_run_time=*/true);
  const Dim count = g.Symbol("count", 0, 9, /*at_run_time=*/true);
  const Value part = FirstRows(g, x, n, rows);
  const Value start = g.Sum(part, {1});
  const Value operands[] = {start, g.Transpose(part, {1, 0})};
  ScanAttrs attrs;
  attrs.carried = 1;
  attrs.directions = {1, 0};
  const Values scan = g.Scan(
      operands,
      [](GraphBuilder& body, std::span<const Value> in) {
        const Value next = body.Add(in[0], in[1]);
        return Values{next, body.Mul(next, in[1])};
      },
      attrs);
  const Values loop =
      g.Loop(trips, g.Constant(Literal::Scalar(true)), {&start, 1},
             [](GraphBuilder& body, std::span<const Value> in) {
               const Value next = body.Mul(in[2], 3);
               return Values{in[1], next, body.Add(next, 1)};
             },
             {.carried = 1, .trips = {count}});
  const auto graph = g.Build({{"sum", scan[0]},
                              {"parts", scan[1]},
                              {"last", loop[0]},
                              {"all", loop[1]}});
  Literal data(DType::kI32, {1200, 6});
  for (int64_t i = 0; i < 7200; ++i) data.SetInt(i, i * 7919 % 101 - 50);
  std::vector<std::vector<Literal>> calls;
  for (const int64_t size : {5, 0, 1200}) {
    for (const int64_t trip : {3, 0, 1}) {
      calls.push_back({data, Count(size), Count(trip)});
    }
  }
  ExpectEqual(graph, calls);
}

TEST_P(ControlFlow, ABranchComputesWithWhatItGives) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kI32, {4}});
  const Value choice = g.Input("choice", {DType::kBool, {}});
  const auto branch = [](int64_t scale) {
    return [scale](GraphBuilder& body, std::span<const Value> in) {
      const Value scaled = body.Mul(in[0], static_cast<double>(scale));
      return Values{scaled, body.Concat({scaled, in[0]}, 0)};
    };
  };
  const Values y = g.If(choice, {&x, 1}, branch(3), branch(-2));
  const auto graph = g.Build({{"y", y[0]}, {"long", y[1]}});
  const auto data = Literal::FromValues<int32_t>({4}, {1, 2, 3, 4});
  ExpectEqual(graph,
              {{data, Literal::Scalar(true)}, {data, Literal::Scalar(false)}});
}

TEST_P(ControlFlow, SoftmaxOfRunTimeSize) {
  GraphBuilder g;
  const Value n = g.Input("n", {DType::kI64, {}});
  const Dim size = g.Symbol("size", 0, 5000, /*at_run_time=*/true);
  g.DefineSymbols(n, {size});
  const Value numbers = g.Iota(DType::kI64, {size});
  const Value x = g.Mul(g.Cast(numbers, DType::kF32), 0.001);
  const auto graph =
      g.Build({{"y", g.Softmax(x)}, {"mean", g.Mean(x, {0})}, {"x", g.Exp(x)}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto compiled = CompileHere(*graph);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  for (const int64_t count : {1, 7, 64, 1001, 5000}) {
    const std::vector<Literal> arguments = {Count(count)};
    const auto expected = Evaluate(*graph, arguments);
    const auto actual =
        Replay(*graph, *compiled, BackendsUnderTest(), arguments);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (size_t i = 0; i < expected->size(); ++i) {
      ASSERT_EQ((*actual)[i].dims(), (*expected)[i].dims());
      for (int64_t e = 0; e < (*expected)[i].element_count(); ++e) {
        const double want = (*expected)[i].AsDouble(e);
        EXPECT_NEAR((*actual)[i].AsDouble(e), want, 1e-5 * std::fabs(want));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, ControlFlow,
                         testing::ValuesIn(TargetsUnderTest()), TargetName);

}  // namespace
}  // namespace encore::backends
