#include "encore/ir/build/builder.h"

#include <gtest/gtest.h>

namespace encore {
namespace {

TensorType F32(Shape shape) { return {DType::kF32, std::move(shape)}; }

int CountNodes(const Graph& graph, Op op) {
  int count = 0;
  for (const NodeId node : Nodes(graph)) count += graph.op(node) == op;
  return count;
}

TEST(GraphBuilderTest, BuildsAnMlp) {
  GraphBuilder g("mlp");
  const Dim n = g.Symbol("N", 1, 64);
  const Value x = g.Input("x", F32({n, 784}));
  const Value w = g.Parameter("w", F32({784, 128}));
  const Value b = g.Parameter("b", F32({128}));
  const Value y = g.Relu(g.Add(g.MatMul(x, w), b));
  EXPECT_EQ(y.type(), F32({n, 128}));
  const StatusOr<Graph> graph = g.Build({{"y", y}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->outputs().size(), 1u);
  EXPECT_EQ(CountNodes(*graph, Op::kBroadcast), 1);
}

TEST(GraphBuilderTest, KeepsTheFirstErrorWithItsOrigin) {
  GraphBuilder g;
  const Value x = g.Input("x", F32({2, 3}));
  Value y;
  {
    const auto scope = g.Origin("fc1/add");
    y = g.Add(x, g.Input("z", F32({4})));
  }
  y = g.Transpose(g.Relu(y), {5, 6, 7});
  const StatusOr<Graph> graph = g.Build({{"y", y}});
  EXPECT_EQ(Message(graph.status()),
            "at fc1/add: shapes [2,3] and [4] do not broadcast together");
}

TEST(GraphBuilderTest, NumbersTakeTheOtherOperandsType) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kI8, {2}});
  EXPECT_EQ(g.Mul(x, 2).dtype(), DType::kI8);
  EXPECT_EQ(g.Sub(1.0, x).dtype(), DType::kI8);
  EXPECT_FALSE(g.Mul(x, 2.5).valid());
  EXPECT_EQ(Message(g.status()), "the number 2.5 cannot be represented in i8");
}

TEST(GraphBuilderTest, NumbersOutOfRangeAreRefused) {
  GraphBuilder g;
  EXPECT_FALSE(g.Scalar(DType::kU8, int64_t{256}).valid());
  GraphBuilder h;
  EXPECT_FALSE(h.Scalar(DType::kU64, int64_t{-1}).valid());
}

TEST(GraphBuilderTest, MatMulShapes) {
  const auto matmul = [](Shape a, Shape b) {
    GraphBuilder g;
    const Value y = g.MatMul(g.Input("a", F32(a)), g.Input("b", F32(b)));
    return y.valid() ? y.shape().ToString() : "error";
  };
  EXPECT_EQ(matmul({3}, {3}), "[]");
  EXPECT_EQ(matmul({2, 3}, {3}), "[2]");
  EXPECT_EQ(matmul({3}, {5, 3, 4}), "[5,4]");
  EXPECT_EQ(matmul({7, 2, 3}, {3, 4}), "[7,2,4]");
  EXPECT_EQ(matmul({5, 1, 2, 3}, {7, 3, 4}), "[5,7,2,4]");
  EXPECT_EQ(matmul({2, 2, 3}, {3, 3, 4}), "error");
}

TEST(GraphBuilderTest, SharesEqualNodesAndSimplifies) {
  GraphBuilder g;
  const Value x = g.Input("x", F32({2, 3}));
  EXPECT_EQ(g.Exp(x).id(), g.Exp(x).id());
  EXPECT_EQ(g.Mul(x, 1).id(), x.id());
  EXPECT_EQ(g.Add(x, -0.0).id(), x.id());
  EXPECT_NE(g.Add(x, 0.0).id(), x.id());
  EXPECT_EQ(g.Sub(x, 0.0).id(), x.id());
  EXPECT_EQ(g.Neg(g.Neg(x)).id(), x.id());
  EXPECT_EQ(g.TransposeMatrix(g.TransposeMatrix(x)).id(), x.id());
  EXPECT_EQ(g.Reshape(g.Reshape(x, {6}), {2, 3}).id(), x.id());
  EXPECT_EQ(g.Slice(x, {0, 0}, {2, 3}).id(), x.id());
  EXPECT_EQ(g.Pad(x, 0, {}, {}).id(), x.id());
  EXPECT_EQ(g.Cast(g.Cast(x, DType::kF64), DType::kF32).id(), x.id());
  EXPECT_NE(g.Cast(g.Cast(x, DType::kF16), DType::kF32).id(), x.id());
  EXPECT_TRUE(g.status().ok()) << g.status();

  GraphBuilder plain("main", {.simplify = false});
  const Value y = plain.Input("x", F32({2, 3}));
  EXPECT_NE(plain.Exp(y).id(), plain.Exp(y).id());
  EXPECT_NE(plain.Mul(y, 1).id(), y.id());
}

TEST(GraphBuilderTest, FoldsSmallConstantsThroughTheFolder) {
  const auto folder = [](Op op, const Attributes&,
                         std::span<const Literal> operands)
      -> std::optional<std::vector<Literal>> {
    if (op != Op::kAdd) return std::nullopt;
    const int64_t sum = operands[0].AsInt(0) + operands[1].AsInt(0);
    return std::vector<Literal>{Literal::Scalar<int64_t>(sum)};
  };
  GraphBuilder g("main", {.folder = folder});
  const Value sum = g.Add(g.Scalar(DType::kI64, int64_t{2}), 3);
  ASSERT_NE(sum.constant(), nullptr);
  EXPECT_EQ(sum.constant()->AsInt(0), 5);
}

TEST(GraphBuilderTest, Bodies) {
  GraphBuilder g;
  const Value x = g.Input("x", F32({}));
  const Value condition = g.Compare(x, 0, Comparison::kLt);
  const auto negate = [](GraphBuilder& body, std::span<const Value> in) {
    return std::vector<Value>{body.Neg(in[0])};
  };
  const auto keep = [](GraphBuilder&, std::span<const Value> in) {
    return std::vector<Value>{in[0]};
  };
  const Value absolute = g.If(condition, {{x}}, negate, keep)[0];
  EXPECT_EQ(absolute.type(), x.type());

  const Value xs = g.Input("xs", F32({5, 2}));
  const Value start = g.Input("start", F32({2}));
  const auto sums = g.Scan({{start, xs}},
                           [](GraphBuilder& body, std::span<const Value> in) {
                             const Value sum = body.Add(in[0], in[1]);
                             return std::vector<Value>{sum, sum};
                           },
                           {.carried = 1});
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums[1].type(), xs.type());

  const auto uses_outer = [x](GraphBuilder& body, std::span<const Value>) {
    return std::vector<Value>{body.Neg(x)};
  };
  EXPECT_FALSE(g.If(condition, {{x}}, uses_outer, keep)[0].valid());
  EXPECT_EQ(Message(g.status()),
            "in body then: neg: operand 0 is not a value of this graph");
}

}  // namespace
}  // namespace encore
