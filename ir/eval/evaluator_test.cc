#include "encore/ir/eval/evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "encore/ir/build/builder.h"

namespace encore {
namespace {

using Values = std::vector<double>;

// The same literal at an odd address, as a mapped file may have it.
Literal Unaligned(const Literal& literal) {
  const auto bytes = literal.bytes();
  const auto owner = std::make_shared<std::vector<std::byte>>(bytes.size() + 2);
  const size_t at = reinterpret_cast<uintptr_t>(owner->data()) % 2 == 0 ? 1 : 0;
  std::ranges::copy(bytes, owner->begin() + at);
  return *Literal::Map(literal.dtype(), literal.dims(),
                       std::span(*owner).subspan(at, bytes.size()), owner);
}

// The outputs of a one-output graph as doubles, wherever the arguments lie.
Values OutputOf(GraphBuilder& g, Value output,
                std::span<const Literal> arguments) {
  const StatusOr<Graph> graph = g.Build({{"y", output}});
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  const auto results = Evaluate(*graph, arguments);
  EXPECT_TRUE(results.ok()) << results.status();
  Values values;
  if (!results.ok()) return values;
  std::vector<Literal> unaligned;
  for (const Literal& x : arguments) unaligned.push_back(Unaligned(x));
  EXPECT_EQ(Evaluate(*graph, unaligned)->front(), results->front());
  for (int64_t i = 0; i < results->front().element_count(); ++i) {
    values.push_back(results->front().AsDouble(i));
  }
  return values;
}

Literal F32(std::vector<int64_t> dims, std::initializer_list<float> values) {
  return Literal::FromValues<float>(std::move(dims), values);
}

// op on scalars of `dtype`.
int64_t OfInts(Op op, DType dtype, int64_t x, int64_t y) {
  Literal operands[] = {Literal(dtype, {}), Literal(dtype, {})};
  operands[0].SetInt(0, x);
  operands[1].SetInt(0, y);
  const auto results = EvaluateNode(op, NoneAttrs(), operands);
  EXPECT_TRUE(results.ok()) << results.status();
  return results->front().AsInt(0);
}

TEST(EvaluatorTest, IntegersWrapAsTheTableSays) {
  EXPECT_EQ(OfInts(Op::kAdd, DType::kI8, 127, 1), -128);
  EXPECT_EQ(OfInts(Op::kSub, DType::kU8, 0, 1), 255);
  EXPECT_EQ(OfInts(Op::kMul, DType::kI64, INT64_MAX, 2), -2);
  EXPECT_EQ(OfInts(Op::kDiv, DType::kI8, -7, 2), -3);
  EXPECT_EQ(OfInts(Op::kDiv, DType::kI8, 5, 0), -1);
  EXPECT_EQ(OfInts(Op::kDiv, DType::kU8, 5, 0), 255);
  EXPECT_EQ(OfInts(Op::kDiv, DType::kI64, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(OfInts(Op::kRem, DType::kI32, -7, 3), -1);
  EXPECT_EQ(OfInts(Op::kRem, DType::kI32, -7, 0), -7);
  EXPECT_EQ(OfInts(Op::kPow, DType::kI32, 3, 5), 243);
  EXPECT_EQ(OfInts(Op::kPow, DType::kI32, -1, -3), -1);
  EXPECT_EQ(OfInts(Op::kPow, DType::kI32, 2, -1), 0);
  EXPECT_EQ(OfInts(Op::kShiftLeft, DType::kI8, 1, 7), -128);
  EXPECT_EQ(OfInts(Op::kShiftLeft, DType::kI8, 1, 8), 0);
  EXPECT_EQ(OfInts(Op::kShiftRight, DType::kI8, -5, 1), -3);
  EXPECT_EQ(OfInts(Op::kShiftRight, DType::kI8, -5, 100), -1);
  EXPECT_EQ(OfInts(Op::kShiftRight, DType::kU4, 15, 1), 7);
  EXPECT_EQ(OfInts(Op::kAdd, DType::kI4, 7, 1), -8);
}

double CastTo(DType to, const Literal& x) {
  const auto results = EvaluateNode(Op::kCast, CastAttrs{to}, {&x, 1});
  EXPECT_TRUE(results.ok()) << results.status();
  return results->front().AsDouble(0);
}

TEST(EvaluatorTest, BitcastKeepsBits) {
  const Literal bits =
      Literal::FromValues<uint32_t>({2}, {0x3f800000, 0x7fc00001});
  const auto floats =
      EvaluateNode(Op::kBitcast, ElementTypeAttrs{DType::kF32}, {&bits, 1});
  ASSERT_TRUE(floats.ok()) << floats.status();
  EXPECT_EQ((*floats)[0].dtype(), DType::kF32);
  EXPECT_EQ((*floats)[0].AsDouble(0), 1);
  const auto back = EvaluateNode(Op::kBitcast, ElementTypeAttrs{DType::kU32},
                                 {&(*floats)[0], 1});
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ((*back)[0], bits);
}

TEST(EvaluatorTest, Casts) {
  EXPECT_EQ(CastTo(DType::kI8, Literal::Scalar(-2.9f)), -2);
  EXPECT_EQ(CastTo(DType::kI8, Literal::Scalar(300.f)), 127);
  EXPECT_EQ(CastTo(DType::kU8, Literal::Scalar(-5.f)), 0);
  EXPECT_EQ(CastTo(DType::kI32, Literal::Scalar(NAN)), 0);
  EXPECT_EQ(CastTo(DType::kI8, Literal::Scalar<int32_t>(200)), -56);
  EXPECT_EQ(CastTo(DType::kBool, Literal::Scalar(0.5f)), 1);
  // Rounded once: by way of double this would give 2^24 + 2 + … the tie.
  const int64_t tricky = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;
  EXPECT_EQ(CastTo(DType::kF32, Literal::Scalar(tricky)),
            static_cast<double>(static_cast<float>(tricky)));
}

TEST(EvaluatorTest, SymbolsAreBoundAndChecked) {
  GraphBuilder g;
  const Dim n = g.Symbol("N", 1, 8);
  const Value x = g.Input("x", {DType::kF32, {n, 2}});
  const Value y = g.Input("y", {DType::kF32, {n}});
  const Value z = g.Add(g.Sum(x, {1}), y);
  const StatusOr<Graph> graph = g.Build({{"z", z}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Literal args[] = {F32({2, 2}, {1, 2, 3, 4}), F32({2}, {10, 20})};
  const auto results = Evaluate(*graph, args);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0], F32({2}, {13, 27}));
  const Literal bad[] = {F32({2, 2}, {1, 2, 3, 4}), F32({1}, {10})};
  EXPECT_EQ(Message(Evaluate(*graph, bad).status()),
            "argument \"y\" has the extents [1], expected [N]");
  const Literal large[] = {Literal(DType::kF32, {9, 2}),
                           Literal(DType::kF32, {9})};
  EXPECT_FALSE(Evaluate(*graph, large).ok());
}

TEST(EvaluatorTest, ErrorsNameNodeAndOrigin) {
  GraphBuilder g;
  const Dim n = g.Symbol("N"), m = g.Symbol("M");
  const Value x = g.Input("x", {DType::kF32, {n}});
  g.Input("y", {DType::kF32, {m}});
  const auto scope = g.Origin("fold");
  const StatusOr<Graph> graph = g.Build({{"y", g.Reshape(x, {m})}});
  ASSERT_TRUE(graph.ok());
  const Literal args[] = {F32({2}, {1, 2}), F32({1}, {3})};
  EXPECT_EQ(Message(Evaluate(*graph, args).status()),
            "node 2 (reshape, fold): reshape: attribute shape is [1], expected "
            "2 elements as in [2]");
}

// Take along dim 0 with an error for what is out of range.
GatherAttrs Checked(int64_t width) {
  GatherAttrs attrs;
  attrs.offset_dims = {1};
  attrs.collapsed_slice_dims = {0};
  attrs.start_index_map = {0};
  attrs.index_vector_dim = 1;
  attrs.slice_sizes = {1, width};
  attrs.out_of_range = OutOfRange::kError;
  return attrs;
}

TEST(EvaluatorTest, IndicesOutOfRange) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kF32, {3, 2}});
  const Value i = g.Input("i", {DType::kI64, {2}});
  const auto scope = g.Origin("embed");
  const StatusOr<Graph> graph = g.Build({{"y", g.Gather(x, i, Checked(2))}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Literal rows = F32({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto run = [&](std::initializer_list<int64_t> indices) {
    return Evaluate(*graph,
                    {{rows, Literal::FromValues<int64_t>({2}, indices)}});
  };
  EXPECT_EQ((*run({2, 0}))[0], F32({2, 2}, {5, 6, 1, 2}));
  for (const int64_t bad : {int64_t{3}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
    const Status status = run({0, bad}).status();
    EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
    EXPECT_EQ(Message(status),
              "node 2 (gather, embed): gather: index " + std::to_string(bad) +
                  " at position 1 of the indices, expected [0, 3): axis 0 has "
                  "the extent 3");
  }
}

// What would fail is not computed before the run, and not at all where nobody
// reads it.
TEST(EvaluatorTest, WhatFailsIsLeftToTheRun) {
  GraphBuilder g("g", {.folder = FoldByEvaluation});
  const auto take = [&](int64_t index) {
    return g.Gather(g.Constant(F32({3, 1}, {1, 2, 3})),
                    g.Constant(Literal::FromValues<int64_t>({1}, {index})),
                    Checked(1));
  };
  EXPECT_NE(take(2).constant(), nullptr);
  const Value fails = take(3);
  EXPECT_EQ(fails.constant(), nullptr);
  const Value fine = g.Add(take(0), take(1));
  const Graph graph = *g.Build({{"y", fine}});
  EXPECT_TRUE(Evaluate(graph, {}).ok());
}

TEST(OpTraits, WhatMayFail) {
  EXPECT_TRUE(MayFail(Op::kGather, Checked(1)));
  EXPECT_FALSE(MayFail(Op::kGather, GatherAttrs()));
  EXPECT_FALSE(MayFail(Op::kScatter, ScatterAttrs()));
  EXPECT_TRUE(MayFail(Op::kAssertion, AssertionAttrs()));
  EXPECT_TRUE(MayFail(Op::kSequenceAt, ElementAttrs()));
  EXPECT_TRUE(MayFail(Op::kStringParse, ElementTypeAttrs()));
  EXPECT_TRUE(MayFail(Op::kCustom, CustomAttrs()));
  EXPECT_FALSE(MayFail(Op::kDiv, NoneAttrs()));
  EXPECT_FALSE(MayFail(Op::kDynamicSlice, DynamicSliceAttrs()));
}

TEST(EvaluatorTest, LoopCountsAndStacks) {
  GraphBuilder g;
  const Dim trips = g.Symbol("T", 0, 100, /*at_run_time=*/true);
  const Value count = g.Input("n", {DType::kI64, {}});
  const Value start = g.Input("x", {DType::kI64, {}});
  const Value yes = g.Constant(Literal::Scalar(true));
  const auto results =
      g.Loop(count, yes, {{start}},
             [](GraphBuilder& body, std::span<const Value> in) {
               const Value next = body.Add(in[2], in[0]);
               return std::vector<Value>{
                   body.Compare(next, 10, Comparison::kLt), next, next};
             },
             {.carried = 1, .trips = {trips}});
  ASSERT_EQ(results.size(), 2u);
  const Literal args[] = {Literal::Scalar<int64_t>(100),
                          Literal::Scalar<int64_t>(4)};
  EXPECT_EQ(OutputOf(g, results[1], args), (Values{4, 5, 7, 10}));
}

TEST(EvaluatorTest, WhileAndScan) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kI64, {}});
  const auto doubled = g.While(
      {{x}},
      [](GraphBuilder& body, std::span<const Value> in) {
        return std::vector<Value>{body.Compare(in[0], 100, Comparison::kLt)};
      },
      [](GraphBuilder& body, std::span<const Value> in) {
        return std::vector<Value>{body.Mul(in[0], 2)};
      });
  const Literal three = Literal::Scalar<int64_t>(3);
  EXPECT_EQ(OutputOf(g, doubled[0], {&three, 1}), Values{192});

  GraphBuilder h;
  const Value xs = h.Input("xs", {DType::kF32, {3}});
  const auto sums =
      h.Scan({{h.Scalar(DType::kF32, 0.0), xs}},
             [](GraphBuilder& body, std::span<const Value> in) {
               const Value sum = body.Add(in[0], in[1]);
               return std::vector<Value>{sum, sum};
             },
             {.carried = 1, .scan_axes = {0, 0}, .directions = {1, 0}});
  const Literal values = F32({3}, {1, 2, 4});
  EXPECT_EQ(OutputOf(h, sums[1], {&values, 1}), (Values{4, 6, 7}));
}

TEST(EvaluatorTest, HostileSizesAreRefused) {
  const Literal x = Literal::Scalar(1.f);
  const BroadcastAttrs huge{{int64_t{1} << 40, int64_t{1} << 20}, {}};
  EXPECT_EQ(EvaluateNode(Op::kBroadcast, huge, {&x, 1}).status().code(),
            StatusCode::kResourceExhausted);
}

TEST(EvaluatorTest, EndlessLoopsEnd) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kBool, {}});
  const auto same = [](GraphBuilder&, std::span<const Value> in) {
    return std::vector<Value>{in[0]};
  };
  const StatusOr<Graph> graph = g.Build({{"y", g.While({{x}}, same, same)[0]}});
  ASSERT_TRUE(graph.ok());
  const Literal yes = Literal::Scalar(true);
  EvaluateOptions options;
  options.max_iterations = 10;
  EXPECT_EQ(Evaluate(*graph, {&yes, 1}, options).status().code(),
            StatusCode::kResourceExhausted);
}

TEST(EvaluatorTest, FourBitMovement) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kI4, {2, 3}});
  Literal literal(DType::kI4, {2, 3});
  for (int i = 0; i < 6; ++i) literal.SetInt(i, i - 3);
  EXPECT_EQ(OutputOf(g, g.TransposeMatrix(x), {&literal, 1}),
            (Values{-3, 0, -2, 1, -1, 2}));
}

TEST(EvaluatorTest, HardmaxMarksTheFirstLargest) {
  GraphBuilder g;
  const Value x = g.Input("x", {DType::kF32, {2, 3}});
  const Value y = g.Node1(Op::kHardmax, {x}, AxisAttrs{1});
  const Literal values = F32({2, 3}, {1, 3, 3, 7, NAN, 9});
  EXPECT_EQ(OutputOf(g, y, {&values, 1}), (Values{0, 1, 0, 0, 1, 0}));
}

// The first words of Philox 4x32-10 under counter and key 0, from the known
// answers that its authors publish with Random123.
TEST(EvaluatorTest, RandomNumbersAreThoseOfPhilox) {
  GraphBuilder g;
  const Value x = g.Node1(Op::kRandom, {}, RandomAttrs{DType::kF64, {1}, 0});
  const uint64_t words = 0x6627e8d5e169c58d;
  EXPECT_EQ(OutputOf(g, x, {}),
            Values{std::ldexp(static_cast<double>(words >> 11), -53)});
}

TEST(EvaluatorTest, DefinitionsGiveSymbolsTheirValues) {
  GraphBuilder g;
  const Value sizes = g.Input("sizes", {DType::kI64, {2}});
  const Dim rows = g.Symbol("rows", 0, 9, /*at_run_time=*/true);
  const Dim columns = g.Symbol("columns", 2, 4, /*at_run_time=*/true);
  g.DefineSymbols(sizes, {rows, columns}, "an extent is out of bounds");
  const Value y = g.Iota(DType::kI64, {rows, columns}, 1);
  const auto graph = g.Build({{"y", y}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto call = [&](int64_t a, int64_t b) {
    const auto literal = Literal::FromValues<int64_t>({2}, {a, b});
    return Evaluate(*graph, {&literal, 1});
  };
  const auto result = call(2, 3);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ((*result)[0],
            Literal::FromValues<int64_t>({2, 3}, {0, 1, 2, 0, 1, 2}));
  for (const auto& bad : {call(10, 3), call(-1, 3), call(2, 5), call(2, 1)}) {
    EXPECT_EQ(bad.status().code(), StatusCode::kOutOfRange);
    EXPECT_EQ(Message(bad.status()),
              "node 1 (define_symbols): an extent is out of bounds");
  }
}

}  // namespace
}  // namespace encore
