#include "encore/cache/key.h"

#include <set>

#include "encore/cache/compiler_id.h"
#include "encore/ir/attributes.h"
#include "encore/ir/graph.h"
#include "encore/ir/graph_test_peer.h"
#include "encore/ir/op.h"
#include "encore/ir/support/check.h"
#include "encore/ir/text/parser.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

using backends::CompileOptions;

const Target kTarget = {{"cpu.isa", "x86-64-v3"}, {"cpu.threads", "2"}};

Graph Parse(std::string_view text) {
  auto graph = ParseGraph(text);
  ENCORE_CHECK_OK(graph.status());
  return *std::move(graph);
}

constexpr std::string_view kMlp = R"(symbols N in [1, 64]
graph mlp(%x: f32[N,4], %w: param f32[4,3] = f32[4,3] 1) {
  %h = dot_general(%x, %w) {contract = [1]x[0]}
  %y = relu(%h)
  return %y
})";

KeyIngredients Ingredients(std::string_view text) {
  return IngredientsOf(Parse(text), CompileOptions(), kTarget);
}

// Each call changes a value to another one.
void Change(bool& value) { value = !value; }
void Change(int64_t& value) { ++value; }
void Change(double& value) { value = value == 0 ? -0.0 : -value; }
void Change(std::string& value) { value += "x"; }
void Change(DType& value) {
  value = value == DType::kF32 ? DType::kF64 : DType::kF32;
}
void Change(Ints& value) { value.push_back(1); }
void Change(Dims& value) { value.push_back(1); }
void Change(AxisPairs& value) { value.rhs.push_back(1); }
void Change(Literal& value) { value = Literal::Scalar<int32_t>(7); }
template <typename Enum>
  requires std::is_enum_v<Enum>
void Change(Enum& value) {
  value = static_cast<Enum>(static_cast<int>(value) + 1);
}

TEST(Key, EveryOptionThatSaysSoCountsAndNoOther) {
  const Graph graph = Parse(kMlp);
  const Digest key = *CacheKey(graph, CompileOptions(), kTarget);
  CompileOptions probe;
  int count = 0;
  backends::VisitOptions(probe, [&](const backends::OptionInfo& info, auto&) {
    CompileOptions options;
    backends::VisitOptions(options,
                           [&](const backends::OptionInfo& other, auto& value) {
                             if (other.name == info.name) Change(value);
                           });
    EXPECT_EQ(*CacheKey(graph, options, kTarget) != key, info.in_key)
        << info.name;
    ++count;
  });
  EXPECT_GE(count, 8);
}

// The key of one node of that op with those attributes; the op table's rows are
// all that is known of it.
Digest KeyOfNode(Op op, const Attributes& attributes) {
  Graph graph;
  const TensorType type{DType::kF32, Shape({2})};
  const NodeId node =
      GraphTestPeer(&graph).Append(op, {}, attributes, {&type, 1});
  ENCORE_CHECK_OK(graph.AddOutput("y", graph.result(node)));
  return KeyOf(IngredientsOf(graph, CompileOptions(), kTarget));
}

TEST(Key, EveryOpAndEveryFieldOfItsAttributesCounts) {
  std::set<Digest> keys;
  int fields = 0;
  for (const OpInfo& info : AllOps()) {
    if (info.op == Op::kInput || info.op == Op::kParameter) continue;
    Attributes attributes = DefaultAttributes(info.attributes);
    EXPECT_TRUE(keys.insert(KeyOfNode(info.op, attributes)).second) << info.op;
    std::vector<std::string_view> names;
    VisitFields(attributes, [&](std::string_view name, auto&, const auto&) {
      names.push_back(name);
    });
    for (const std::string_view wanted : names) {
      Attributes changed = attributes;
      VisitFields(changed,
                  [&](std::string_view name, auto& field, const auto&) {
                    if (name == wanted) Change(field);
                  });
      EXPECT_TRUE(keys.insert(KeyOfNode(info.op, changed)).second)
          << info.op << "." << wanted;
      ++fields;
    }
  }
  EXPECT_GE(fields, 80);
}

TEST(Key, EveryTargetIngredientCounts) {
  const Graph graph = Parse(kMlp);
  std::set<Digest> keys = {*CacheKey(graph, {}, kTarget)};
  for (size_t i = 0; i < kTarget.size(); ++i) {
    Target target = kTarget;
    target[i].second += "x";
    EXPECT_TRUE(keys.insert(*CacheKey(graph, {}, target)).second);
    target = kTarget;
    target[i].first += "x";
    EXPECT_TRUE(keys.insert(*CacheKey(graph, {}, target)).second);
    target = kTarget;
    target.erase(target.begin() + i);
    EXPECT_TRUE(keys.insert(*CacheKey(graph, {}, target)).second);
  }
}

TEST(Key, ShapesDTypesBoundsAndStructureCount) {
  std::set<Digest> keys;
  for (const std::string_view text : {
           kMlp,
           // A bound.
           std::string_view(R"(symbols N in [1, 65]
graph mlp(%x: f32[N,4], %w: param f32[4,3]) {
  %h = dot_general(%x, %w) {contract = [1]x[0]} %y = relu(%h) return %y })"),
           std::string_view(R"(symbols N in [2, 64]
graph mlp(%x: f32[N,4], %w: param f32[4,3]) {
  %h = dot_general(%x, %w) {contract = [1]x[0]} %y = relu(%h) return %y })"),
           std::string_view(R"(symbols N at_run_time in [1, 64]
graph mlp(%x: f32[N,4], %w: param f32[4,3]) {
  %h = dot_general(%x, %w) {contract = [1]x[0]} %y = relu(%h) return %y })"),
           // An extent, a dtype, an input in place of a parameter.
           std::string_view(R"(symbols N in [1, 64]
graph mlp(%x: f32[N,5], %w: param f32[5,3]) {
  %h = dot_general(%x, %w) {contract = [1]x[0]} %y = relu(%h) return %y })"),
           std::string_view(R"(symbols N in [1, 64]
graph mlp(%x: f64[N,4], %w: param f64[4,3]) {
  %h = dot_general(%x, %w) {contract = [1]x[0]} %y = relu(%h) return %y })"),
           std::string_view(R"(symbols N in [1, 64]
graph mlp(%x: f32[N,4], %w: f32[4,3]) {
  %h = dot_general(%x, %w) {contract = [1]x[0]} %y = relu(%h) return %y })"),
           // Another op, another order of arguments, more outputs, an argument
           // that nothing uses.
           std::string_view(R"(symbols N in [1, 64]
graph mlp(%x: f32[N,4], %w: param f32[4,3]) {
  %h = dot_general(%x, %w) {contract = [1]x[0]} %y = exp(%h) return %y })"),
           std::string_view(R"(symbols N in [1, 64]
graph mlp(%w: param f32[4,3], %x: f32[N,4]) {
  %h = dot_general(%x, %w) {contract = [1]x[0]} %y = relu(%h) return %y })"),
           std::string_view(R"(symbols N in [1, 64]
graph mlp(%x: f32[N,4], %w: param f32[4,3]) {
  %h = dot_general(%x, %w) {contract = [1]x[0]} %y = relu(%h) return %y, %h })"),
           std::string_view(R"(symbols N in [1, 64]
graph mlp(%x: f32[N,4], %w: param f32[4,3], %z: f32[1]) {
  %h = dot_general(%x, %w) {contract = [1]x[0]} %y = relu(%h) return %y })"),
       }) {
    EXPECT_TRUE(keys.insert(KeyOf(Ingredients(text))).second) << text;
  }
}

TEST(Key, NamesOrderAndParameterValuesDoNotCount) {
  const Digest key = KeyOf(Ingredients(kMlp));
  EXPECT_EQ(key, KeyOf(Ingredients(R"(symbols M, B in [1, 64]
graph other(%in: f32[B,4] @"o", %weight: param f32[4,3] = f32[4,3] 2) {
  %dead = neg(%in)
  %1 = dot_general(%in, %weight) {contract = [1]x[0]} @"fc1"
  %2 = relu(%1)
  return %2 as out
})")));
}

TEST(Key, EveryDTypeOfAnArgumentAndOfAConstantCounts) {
  std::set<Digest> keys;
  for (const DType dtype : AllDTypes()) {
    Graph graph;
    const auto input = graph.AddInput("x", {dtype, Shape({2})});
    ASSERT_TRUE(graph.AddOutput("y", *input).ok());
    EXPECT_TRUE(keys.insert(*CacheKey(graph, {}, kTarget)).second) << dtype;
    Graph constant;
    const auto node =
        constant.AddNode(Op::kConstant, {}, ConstantAttrs{Literal(dtype, {2})});
    ASSERT_TRUE(constant.AddOutput("y", constant.result(*node)).ok());
    EXPECT_TRUE(keys.insert(*CacheKey(constant, {}, kTarget)).second) << dtype;
  }
}

TEST(Key, EveryBitOfAConstantCounts) {
  for (const int64_t count : {1, 1000}) {  // inline, and by digest
    std::set<Digest> keys;
    for (int64_t bit = 0; bit < count * 32; bit += count == 1 ? 1 : 997) {
      Literal literal(DType::kF32, {count});
      literal.mutable_bytes()[bit / 8] = static_cast<std::byte>(1 << bit % 8);
      Graph graph;
      const auto node =
          graph.AddNode(Op::kConstant, {}, ConstantAttrs{literal});
      ASSERT_TRUE(graph.AddOutput("y", graph.result(*node)).ok());
      EXPECT_TRUE(keys.insert(*CacheKey(graph, {}, kTarget)).second);
    }
  }
}

TEST(Key, ACustomOpWithoutDigestHasNone) {
  const Graph graph = Parse(
      "graph g(%x: f32[2]) { %y = custom(%x) {name = \"mine\", dtypes = "
      "[15], ranks = [1], dims = [2]} return %y }");
  const auto key = CacheKey(graph, {}, kTarget);
  EXPECT_EQ(key.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(key.status()).find("mine"), std::string::npos);
}

TEST(Key, IngredientsRoundTrip) {
  const KeyIngredients ingredients = Ingredients(kMlp);
  const std::string bytes = EncodeIngredients(ingredients);
  const auto decoded = DecodeIngredients(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->parts, ingredients.parts);
  EXPECT_EQ(KeyOf(*decoded), KeyOf(ingredients));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeIngredients(bytes.substr(0, size)).ok());
  }
}

TEST(Key, ExplainNamesTheFirstDifference) {
  const KeyIngredients a = Ingredients(kMlp);
  EXPECT_EQ(Explain(a, a), std::nullopt);
  KeyIngredients b = IngredientsOf(Parse(kMlp), {.fuse = false}, kTarget);
  EXPECT_EQ(Explain(a, b), "option.fuse: \"true\" and \"false\"");
  b = IngredientsOf(Parse(kMlp), {}, {{"cpu.isa", "v4"}});
  EXPECT_EQ(Explain(a, b), "target.cpu.isa: \"x86-64-v3\" and \"v4\"");
  b = Ingredients(R"(symbols N in [1, 64]
graph mlp(%x: f32[N,4], %w: param f32[4,3]) {
  %h = dot_general(%x, %w) {contract = [1]x[0]} %y = exp(%h) return %y })");
  EXPECT_EQ(Explain(a, b), "graph: node 1 (relu): ops differ: relu and exp");
}

TEST(Key, TheCompilerIdIsADigest) {
  EXPECT_TRUE(Digest::FromHex(CompilerId()).has_value());
}

}  // namespace
}  // namespace encore::cache
