// Loops and run-time sizes on each backend, against the evaluator.

#include <cmath>
#include <string>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/conformance/replay.h"
#include "encore/ir/builder.h"
#include "encore/ir/evaluator.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

using Values = std::vector<Value>;

class ControlFlow : public testing::TestWithParam<std::string> {
 protected:
  // Compiles once, and replays each call's arguments.
  void ExpectEqual(const StatusOr<Graph>& graph,
                   const std::vector<std::vector<Literal>>& calls) {
    ASSERT_TRUE(graph.ok()) << graph.status();
    CompileOptions options;
    options.target = GetParam();
    const auto compiled = Compile(*graph, options, AllBackends());
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    for (const std::vector<Literal>& arguments : calls) {
      const auto expected = Evaluate(*graph, arguments);
      ASSERT_TRUE(expected.ok()) << expected.status();
      const auto actual = Replay(*graph, *compiled, AllBackends(), arguments);
      ASSERT_TRUE(actual.ok()) << actual.status();
      ASSERT_EQ(actual->size(), expected->size());
      for (size_t i = 0; i < expected->size(); ++i) {
        EXPECT_EQ((*actual)[i], (*expected)[i]) << "output " << i;
      }
    }
  }
};

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

// The condition ends the loop: how many trips there are is found out first.
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

INSTANTIATE_TEST_SUITE_P(Backends, ControlFlow, testing::Values("cpu", "ref"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace encore::backends
