// Indices out of range on each backend: the error of the evaluator, about the
// same node, and none where the program does not run that node.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/conformance/late_backends.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/conformance/target_test.h"
#include "encore/ir/build/builder.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using Values = std::vector<Value>;
using Literals = std::vector<Literal>;

class IndexFaults : public TargetTest {
 protected:
  // Both end with `error` and name the node `origin`.
  void ExpectFault(const StatusOr<Graph>& graph, const Literals& arguments,
                   std::string_view origin, std::string_view error) {
    ASSERT_TRUE(graph.ok()) << graph.status();
    const auto compiled = CompileHere(*graph);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const Status expected = Evaluate(*graph, arguments).status();
    const Status actual =
        Replay(*graph, *compiled, BackendsUnderTest(), arguments).status();
    for (const Status& status : {expected, actual}) {
      EXPECT_EQ(status.code(), StatusCode::kOutOfRange) << status;
      EXPECT_THAT(Message(status), EndsWith(error));
      EXPECT_THAT(Message(status), HasSubstr(origin));
    }
  }
};

Literal Indices(DType dtype, std::vector<int64_t> dims,
                const std::vector<int64_t>& values) {
  Literal literal(dtype, std::move(dims));
  for (size_t i = 0; i < values.size(); ++i) {
    literal.SetInt(static_cast<int64_t>(i), values[i]);
  }
  return literal;
}

Literal Count(int64_t count) { return Literal::Scalar<int64_t>(count); }

Literal Numbers(std::vector<int64_t> dims) {
  Literal literal(DType::kF32, std::move(dims));
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    literal.SetDouble(i, static_cast<double>(i));
  }
  return literal;
}

// Slices of `x` along dim 0, of `size` rows, which stay where size is not 1.
Value TakeRows(GraphBuilder& g, std::string_view origin, Value x, Value indices,
               int64_t size = 1) {
  const auto scope = g.Origin(origin);
  GatherAttrs attrs;
  attrs.out_of_range = OutOfRange::kError;
  attrs.slice_sizes = x.shape().dims();
  attrs.slice_sizes[0] = size;
  attrs.start_index_map = {0};
  attrs.index_vector_dim = indices.rank();
  const int kept = size == 1 ? 0 : 1;
  if (kept == 0) attrs.collapsed_slice_dims = {0};
  for (int i = 0; i < x.rank() - 1 + kept; ++i) {
    attrs.offset_dims.push_back(indices.rank() + i);
  }
  return g.Gather(x, indices, std::move(attrs));
}

// x[i] of x [rows, width] for indices of [count].
StatusOr<Graph> Rows(DType index, int64_t rows, int64_t width, int64_t count) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kF32, {rows, width}});
  const Value i = g.Input("i", {index, {count}});
  return g.Build({{"y", TakeRows(g, "embed", x, i)}});
}

TEST_P(IndexFaults, AGatherSaysWhichIndexAndWhere) {
  for (const DType index : {DType::kI32, DType::kI64}) {
    // Lanes along a row, along the indices, and neither.
    for (const int64_t width : {1, 3, 16, 40}) {
      const auto graph = Rows(index, 5, width, 37);
      const Literal x = Numbers({5, width});
      std::vector<int64_t> values(37, 4);
      ExpectEqual(graph, {{x, Indices(index, {37}, values)}});
      for (const int64_t bad : {int64_t{5}, int64_t{-1}, int64_t{1} << 30}) {
        for (const int64_t at : {0, 8, 36}) {
          values.assign(37, 0);
          values[at] = bad;
          // Later ones say nothing.
          if (at < 30) values[at + 5] = bad + 7;
          ExpectFault(graph, {x, Indices(index, {37}, values)}, "embed",
                      StrCat("gather: index ", bad, " at position ", at,
                             " of the indices, expected [0, 5): axis 0 has "
                             "the extent 5"));
        }
      }
    }
  }
}

TEST_P(IndexFaults, HugeIndices) {
  for (const int64_t width : {1, 16}) {
    const auto graph = Rows(DType::kI64, 5, width, 9);
    for (const int64_t bad : {INT64_MIN, INT64_MAX, int64_t{1} << 32,
                              -(int64_t{1} << 62), int64_t{1} << 62}) {
      ExpectFault(graph,
                  {Numbers({5, width}),
                   Indices(DType::kI64, {9}, {0, 1, 2, 3, 4, 0, bad, 2, 3})},
                  "embed",
                  StrCat("index ", bad,
                         " at position 6 of the indices, expected "
                         "[0, 5): axis 0 has the extent 5"));
    }
  }
}

// The first start of a slice may be such that the slice ends with the operand.
TEST_P(IndexFaults, SlicesOfSeveralElements) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kF32, {7, 4}});
  const Value i = g.Input("i", {DType::kI32, {2, 3}});
  const auto graph = g.Build({{"y", TakeRows(g, "slices", x, i, 3)}});
  ExpectEqual(graph, {{Numbers({7, 4}),
                       Indices(DType::kI32, {2, 3}, {0, 1, 2, 3, 4, 4})}});
  ExpectFault(
      graph,
      {Numbers({7, 4}), Indices(DType::kI32, {2, 3}, {0, 1, 2, 3, 5, 4})},
      "slices",
      "gather: index 5 at position 4 of the indices, expected [0, 5): "
      "axis 0 has the extent 7");
}

// Index vectors: of one vector the first component, of several the first one.
TEST_P(IndexFaults, IndexVectors) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kF32, {4, 6}});
  const Value i = g.Input("i", {DType::kI64, {3, 2}});
  const auto scope = g.Origin("points");
  GatherAttrs attrs;
  attrs.collapsed_slice_dims = {0, 1};
  attrs.start_index_map = {1, 0};
  attrs.index_vector_dim = 1;
  attrs.slice_sizes = {1, 1};
  attrs.out_of_range = OutOfRange::kError;
  const auto graph = g.Build({{"y", g.Gather(x, i, attrs)}});
  ExpectEqual(graph, {{Numbers({4, 6}),
                       Indices(DType::kI64, {3, 2}, {5, 3, 0, 0, 2, 1})}});
  ExpectFault(
      graph,
      {Numbers({4, 6}), Indices(DType::kI64, {3, 2}, {5, 3, 1, 5, 9, 1})},
      "points",
      "gather: index 5 at position 1 of the indices, expected [0, 4): "
      "axis 0 has the extent 4");
  ExpectFault(
      graph,
      {Numbers({4, 6}), Indices(DType::kI64, {3, 2}, {5, 3, 6, -2, 9, 1})},
      "points",
      "gather: index 6 at position 1 of the indices, expected [0, 6): "
      "axis 1 has the extent 6");
}

StatusOr<Graph> ScatterRows(Update update, int64_t width) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kF32, {5, width}});
  const Value i = g.Input("i", {DType::kI64, {4, 1}});
  const Value u = g.Input("u", {DType::kF32, {4, width}});
  const auto scope = g.Origin("write");
  ScatterAttrs attrs;
  attrs.update = update;
  attrs.update_window_dims = {1};
  attrs.inserted_window_dims = {0};
  attrs.scatter_dims_to_operand_dims = {0};
  attrs.index_vector_dim = 1;
  attrs.out_of_range = OutOfRange::kError;
  return g.Build({{"y", g.Scatter(x, i, u, attrs)}});
}

TEST_P(IndexFaults, Scatters) {
  for (const Update update : {Update::kSet, Update::kAdd, Update::kMax}) {
    for (const int64_t width : {1, 19}) {
      const auto graph = ScatterRows(update, width);
      const Literal x = Numbers({5, width}), u = Numbers({4, width});
      ExpectEqual(graph, {{x, Indices(DType::kI64, {4, 1}, {4, 0, 2, 2}), u}});
      for (const int64_t bad : {int64_t{5}, int64_t{-1}, INT64_MAX}) {
        ExpectFault(graph,
                    {x, Indices(DType::kI64, {4, 1}, {4, bad, 2, bad}), u},
                    "write",
                    StrCat("scatter: index ", bad,
                           " at position 1 of the indices, expected [0, 5): "
                           "axis 0 has the extent 5"));
      }
    }
  }
}

// One kernel with two gathers names the one that failed; of both the first.
TEST_P(IndexFaults, TwoGathersInOneKernel) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kF32, {5, 8}});
  const Value y = g.Input("y", {DType::kF32, {7, 8}});
  const Value i = g.Input("i", {DType::kI64, {6}});
  const Value j = g.Input("j", {DType::kI32, {6}});
  const Value sum =
      g.Add(TakeRows(g, "first", x, i), g.Neg(TakeRows(g, "second", y, j)));
  const auto graph = g.Build({{"z", sum}});
  ASSERT_TRUE(graph.ok());
  const auto compiled = CompileHere(*graph);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_EQ(compiled->kernel_binaries.size(), 1u);
  const Literal a = Numbers({5, 8}), b = Numbers({7, 8});
  const Literal good = Indices(DType::kI64, {6}, {0, 4, 3, 2, 1, 0});
  const Literal fine = Indices(DType::kI32, {6}, {0, 6, 5, 2, 1, 0});
  const Literal bad = Indices(DType::kI64, {6}, {0, 4, 3, 2, 1, 5});
  const Literal wrong = Indices(DType::kI32, {6}, {0, 7, 5, 2, 1, 0});
  ExpectEqual(graph, {{a, b, good, fine}});
  ExpectFault(graph, {a, b, good, wrong}, "second",
              "index 7 at position 1 of the indices, expected [0, 7): axis 0 "
              "has the extent 7");
  for (const Literal& other : {fine, wrong}) {
    ExpectFault(graph, {a, b, bad, other}, "first",
                "index 5 at position 5 of the indices, expected [0, 5): axis 0 "
                "has the extent 5");
  }
}

// What reads only part of a result does not hide an index.
TEST_P(IndexFaults, IndicesThatNobodyReads) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kF32, {5, 4}});
  const Value i = g.Input("i", {DType::kI64, {6}});
  const Value y = TakeRows(g, "embed", x, i);
  const auto graph = g.Build(
      {{"part", g.Neg(g.SliceAxis(y, 0, 0, 2))},
       {"padded", g.Pad(y, 0.0, {1, 0}, {1, 0})},
       {"both",
        g.Concat({g.SliceAxis(y, 0, 1, 3), g.SliceAxis(y, 0, 0, 1)}, 0)},
       {"turned", g.Transpose(y, {1, 0})},
       {"sum", g.Sum(y, {0, 1})}});
  const Literal values = Numbers({5, 4});
  ExpectEqual(graph, {{values, Indices(DType::kI64, {6}, {0, 1, 4, 3, 2, 1})}});
  ExpectFault(graph, {values, Indices(DType::kI64, {6}, {0, 1, 4, 3, 2, -5})},
              "embed",
              "index -5 at position 5 of the indices, expected [0, 5): axis 0 "
              "has the extent 5");
  GraphBuilder h;
  const Value z = TakeRows(h, "embed", h.Input("x", {DType::kF32, {5, 4}}),
                           h.Input("i", {DType::kI64, {6}}));
  ExpectFault(h.Build({{"part", h.Neg(h.SliceAxis(z, 0, 0, 2))}}),
              {values, Indices(DType::kI64, {6}, {0, 1, 4, 3, 2, 5})}, "embed",
              "index 5 at position 5 of the indices, expected [0, 5): axis 0 "
              "has the extent 5");
}

// Extents that a replay binds, where the backend takes such.
TEST_P(IndexFaults, SymbolicExtents) {
  if (GetParam() != "ref") return;
  GraphBuilder g;
  const Dim n = g.Symbol("N", 0, 100), m = g.Symbol("M", 0, 100);
  const Value x = g.Input("x", {DType::kF32, {n, 3}});
  const Value i = g.Input("i", {DType::kI64, {m}});
  const auto graph = g.Build({{"y", TakeRows(g, "embed", x, i)}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  ExpectEqual(graph, {{Numbers({2, 3}), Indices(DType::kI64, {3}, {1, 0, 1})},
                      {Numbers({50, 3}), Indices(DType::kI64, {1}, {49})},
                      {Numbers({0, 3}), Indices(DType::kI64, {0}, {})},
                      {Numbers({4, 3}), Indices(DType::kI64, {0}, {})}});
  ExpectFault(graph, {Numbers({2, 3}), Indices(DType::kI64, {3}, {1, 0, 2})},
              "embed",
              "index 2 at position 2 of the indices, expected [0, 2): axis 0 "
              "has the extent 2");
}

// Extents that are known at run time only, of what is indexed and of indices.
TEST_P(IndexFaults, RunTimeExtents) {
  GraphBuilder g;
  const Value k = g.Input("k", {DType::kI64, {}});
  const Value c = g.Input("c", {DType::kI64, {}});
  const Value last = g.Input("last", {DType::kI64, {}});
  const auto count = [&](Value size, const char* name) {
    const Dim dim = g.Symbol(name, 0, 5000, /*at_run_time=*/true);
    g.DefineSymbols(size, {dim});
    return g.Iota(DType::kI64, {dim});
  };
  const Value x = g.Cast(count(k, "N"), DType::kF32);
  const Value i = g.Add(count(c, "M"), last);
  const auto graph = g.Build({{"y", g.Neg(TakeRows(g, "embed", x, i))}});
  const auto arguments = [](int64_t n, int64_t m, int64_t first) {
    return Literals{Count(n), Count(m), Count(first)};
  };
  ExpectEqual(graph, {arguments(5, 5, 0), arguments(3, 0, 0),
                      arguments(4099, 4000, 99)});
  ExpectFault(graph, arguments(3, 4, 1), "embed",
              "index 3 at position 2 of the indices, expected [0, 3): axis 0 "
              "has the extent 3");
  ExpectFault(graph, arguments(4099, 4001, 99), "embed",
              "index 4099 at position 4000 of the indices, expected [0, 4099): "
              "axis 0 has the extent 4099");
  // There is no element to read.
  const auto compiled = CompileHere(*graph);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_FALSE(Evaluate(*graph, arguments(0, 3, 0)).ok());
  EXPECT_FALSE(
      Replay(*graph, *compiled, BackendsUnderTest(), arguments(0, 3, 0)).ok());
}

TEST_P(IndexFaults, NothingIsOutOfAnEmptyAxis) {
  for (const int64_t rows : {0, 4}) {
    ExpectEqual(Rows(DType::kI64, rows, 3, 0),
                {{Numbers({rows, 3}), Indices(DType::kI64, {0}, {})}});
  }
}

// A branch that is not taken finds nothing out, though all that its node needs
// is known once the weights are.
TEST_P(IndexFaults, ABranchThatIsNotTaken) {
  GraphBuilder g;
  const Value condition = g.Input("c", {DType::kBool, {}});
  const Value x = g.Parameter("x", {DType::kF32, {5, 4}});
  const Value i = g.Parameter("i", {DType::kI64, {2}});
  const Value operands[] = {x, i};
  const Values results = g.If(
      condition, operands,
      [](GraphBuilder& body, std::span<const Value> in) {
        return Values{TakeRows(body, "embed", in[0], in[1])};
      },
      [](GraphBuilder& body, std::span<const Value> in) {
        return Values{body.SliceAxis(in[0], 0, 0, 2)};
      });
  const auto graph = g.Build({{"y", results[0]}});
  const Literal taken = Literal::Scalar(true), other = Literal::Scalar(false);
  const Literal bad = Indices(DType::kI64, {2}, {0, 5});
  ExpectEqual(graph,
              {{other, Numbers({5, 4}), bad},
               {taken, Numbers({5, 4}), Indices(DType::kI64, {2}, {4, 0})}});
  ExpectFault(graph, {taken, Numbers({5, 4}), bad}, "embed",
              "index 5 at position 1 of the indices, expected [0, 5): axis 0 "
              "has the extent 5");
}

TEST_P(IndexFaults, ALoopWithoutTrips) {
  GraphBuilder g;
  const Value trips = g.Input("n", {DType::kI64, {}});
  const Value x = g.Parameter("x", {DType::kF32, {5}});
  const Value i = g.Parameter("i", {DType::kI64, {2}});
  const Value start = g.Input("s", {DType::kF32, {2}});
  const Value operands[] = {start, x, i};
  const Dim count = g.Symbol("T", 0, 16, /*at_run_time=*/true);
  const Values results =
      g.Loop(trips, g.Constant(Literal::Scalar(true)), operands,
             [](GraphBuilder& body, std::span<const Value> in) {
               const Value row = TakeRows(body, "embed", in[3], in[4]);
               return Values{in[1], body.Add(in[2], row), row};
             },
             {.carried = 1, .trips = {count}});
  const auto graph = g.Build({{"last", results[0]}, {"all", results[1]}});
  const auto arguments = [](int64_t n, int64_t index) {
    return Literals{Literal::Scalar<int64_t>(n), Numbers({5}),
                    Indices(DType::kI64, {2}, {0, index}), Numbers({2})};
  };
  ExpectEqual(graph, {arguments(0, 9), arguments(3, 4)});
  ExpectFault(graph, arguments(1, 9), "embed",
              "index 9 at position 1 of the indices, expected [0, 5): axis 0 "
              "has the extent 5");
}

INSTANTIATE_TEST_SUITE_P(Targets, IndexFaults,
                         testing::ValuesIn(TargetsUnderTest()), TargetName);

}  // namespace
}  // namespace encore::backends
