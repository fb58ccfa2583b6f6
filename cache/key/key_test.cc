#include "encore/cache/key/key.h"

#include <cmath>
#include <cstddef>
#include <set>
#include <vector>

#include "encore/cache/key/compiler_id.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/graph_test_peer.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

using backends::CompileOptions;

// This machine's, for every backend that is built in.
const Target& RealTarget() {
  static const Target* const target = [] {
    CompileOptions options;
    options.placement = "x=ref";
    auto all = StandardCompiler().target(options);
    ENCORE_CHECK_OK(all.status());
    return new Target(*std::move(all));
  }();
  return *target;
}

constexpr std::string_view kMlp = R"(symbols N in [1, 64]
graph mlp(%x: f32[N,4], %w: param f32[4,3] = f32[4,3] 1) {
  %h = dot_general(%x, %w) {contract = [1]x[0]}
  %y = relu(%h)
  return %y
})";

KeyIngredients Ingredients(std::string_view text) {
  return IngredientsOf(ParsedGraph(text), CompileOptions(), RealTarget());
}

// Each gives values that differ from the given one and from each other.
std::vector<bool> Others(bool value) { return {!value}; }
std::vector<int64_t> Others(int64_t value) {
  return {value + 1, value - 1, -value - 5, value ^ int64_t{1} << 40};
}
std::vector<double> Others(double value) {
  return {value == 0 ? -0.0 : -value, value + 1, std::nextafter(value, 9e9),
          std::nan("")};
}
std::vector<std::string> Others(const std::string& value) {
  return {value + "x", "x" + value + "y"};
}
std::vector<DType> Others(DType value) {
  std::vector<DType> others(AllDTypes().begin(), AllDTypes().end());
  std::erase(others, value);
  return others;
}
template <typename T>
std::vector<std::vector<T>> Others(const std::vector<T>& value) {
  std::vector<std::vector<T>> others;
  for (const int64_t item : {0, 1, 300}) {
    others.push_back(value);
    others.back().push_back(item);
  }
  for (size_t i = 0; i < value.size(); ++i) {
    others.push_back(value);
    others.back()[i] = value[i] + T(1);
  }
  return others;
}
std::vector<AxisPairs> Others(const AxisPairs& value) {
  std::vector<AxisPairs> others;
  for (const Ints& lhs : Others(value.lhs)) others.push_back({lhs, value.rhs});
  for (const Ints& rhs : Others(value.rhs)) others.push_back({value.lhs, rhs});
  return others;
}
std::vector<Literal> Others(const Literal&) {
  return {Literal::Scalar<int32_t>(7), Literal::Scalar<int32_t>(8),
          Literal::Scalar<uint32_t>(7), Literal::FromValues<int32_t>({1}, {7})};
}
template <typename Enum>
  requires std::is_enum_v<Enum>
std::vector<Enum> Others(Enum value) {
  std::vector<Enum> others;
  for (uint64_t i = 0; const auto other = EnumFromInt<Enum>(i); ++i) {
    if (*other != value) others.push_back(*other);
  }
  return others;
}

// The next value of an option, whose enumerations are not the IR's.
template <typename T>
void Change(T& value) {
  if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(static_cast<int>(value) + 1);
  } else {
    value = Others(value)[0];
  }
}

TEST(Key, EveryOptionThatSaysSoCountsAndNoOther) {
  const Graph graph = ParsedGraph(kMlp);
  const Digest key = *CacheKey(graph, CompileOptions(), RealTarget());
  CompileOptions probe;
  int count = 0;
  backends::VisitOptions(probe, [&](const backends::OptionInfo& info, auto&) {
    CompileOptions options;
    backends::VisitOptions(options,
                           [&](const backends::OptionInfo& other, auto& value) {
                             if (other.name == info.name) Change(value);
                           });
    EXPECT_EQ(*CacheKey(graph, options, RealTarget()) != key, info.in_key)
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
  return KeyOf(IngredientsOf(graph, CompileOptions(), RealTarget()));
}

TEST(Key, EveryOpAndEveryFieldOfItsAttributesCounts) {
  std::set<Digest> keys;
  int fields = 0;
  for (const OpInfo& info : AllOps()) {
    if (info.op == Op::kInput || info.op == Op::kParameter) continue;
    Attributes attributes = DefaultAttributes(info.attributes);
    EXPECT_TRUE(keys.insert(KeyOfNode(info.op, attributes)).second) << info.op;
    // Changes a field, takes the key, and puts the field back.
    VisitFields(
        attributes, [&](std::string_view name, auto& field, const auto&) {
          const auto original = field;
          for (const auto& other : Others(original)) {
            field = other;
            const Digest key = KeyOfNode(info.op, attributes);
            EXPECT_TRUE(keys.insert(key).second) << info.op << "." << name;
          }
          field = original;
          ++fields;
        });
  }
  EXPECT_GE(fields, 80);
}

// Each name and each character of the fingerprints: instruction set, sizes of
// the caches, versions of libraries, threads. What they are made of:
// backends/cpu/cpu_backend_test.cc.
TEST(Key, EveryTargetIngredientCounts) {
  const Graph graph = ParsedGraph(kMlp);
  const Target& real = RealTarget();
  std::set<Digest> keys = {*CacheKey(graph, {}, real)};
  const auto is_new = [&](const Target& target) {
    return keys.insert(*CacheKey(graph, {}, target)).second;
  };
  size_t characters = 0;
  for (size_t i = 0; i < real.size(); ++i) {
    Target target = real;
    target[i].first += "x";
    EXPECT_TRUE(is_new(target)) << real[i].first;
    target = real;
    target[i].second += "x";
    EXPECT_TRUE(is_new(target)) << real[i].first;
    target = real;
    target.erase(target.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_TRUE(is_new(target)) << real[i].first;
    for (size_t at = 0; at < real[i].second.size(); ++at) {
      target = real;
      target[i].second[at] ^= 1;
      EXPECT_TRUE(is_new(target)) << real[i].first << " at " << at;
      ++characters;
    }
  }
  EXPECT_GE(characters, 20u);
}

// Whatever else there is, format version and compiler id included.
TEST(Key, EveryIngredientCounts) {
  const KeyIngredients ingredients = Ingredients(kMlp);
  std::set<Digest> keys = {KeyOf(ingredients)};
  for (size_t i = 0; i < ingredients.parts.size(); ++i) {
    KeyIngredients other = ingredients;
    other.parts[i].second += "x";
    EXPECT_TRUE(keys.insert(KeyOf(other)).second) << other.parts[i].first;
    other = ingredients;
    other.parts[i].first += "x";
    EXPECT_TRUE(keys.insert(KeyOf(other)).second) << other.parts[i].first;
    other = ingredients;
    other.parts.erase(other.parts.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_TRUE(keys.insert(KeyOf(other)).second);
  }
}

TEST(Key, EveryOperandAndBodyCounts) {
  std::set<Digest> keys;
  for (const std::string_view node : {
           "sub(%x, %y)",
           "sub(%y, %x)",
           "sub(%x, %x)",
           "sub(%y, %y)",
           "if(%c, %x) graph a(%a: f32[2]) { return %a } "
           "graph b(%a: f32[2]) { return %a }",
           "if(%c, %y) graph a(%a: f32[2]) { return %a } "
           "graph b(%a: f32[2]) { return %a }",
           "if(%c, %x) graph a(%a: f32[2]) { %n = neg(%a) return %n } "
           "graph b(%a: f32[2]) { return %a }",
           "if(%c, %x) graph a(%a: f32[2]) { return %a } "
           "graph b(%a: f32[2]) { %n = neg(%a) return %n }",
       }) {
    const std::string text =
        StrCat("graph g(%c: bool[], %x: f32[2], %y: f32[2]) { %z = ", node,
               " return %z }");
    EXPECT_TRUE(keys.insert(KeyOf(Ingredients(text))).second) << node;
  }
}

// Every type an argument may have: each dim of a shape, and each host kind.
TEST(Key, EveryDimAndValueKindCounts) {
  std::set<Digest> keys;
  for (const std::string_view type :
       {"f32[2,3,5]",         "f32[3,2,5]",
        "f32[2,3,6]",         "f32[2,3]",
        "f32[2,3,5,1]",       "f32[30]",
        "f32[N,3,5]",         "f32[2,N,5]",
        "f32[N,N,5]",         "f32[N,M,5]",
        "f32[N + 1,3,5]",     "f32[2*N,3,5]",
        "f32[N*M,3,5]",       "f32[floor_div(N, 2),3,5]",
        "f32[mod(N, 2),3,5]", "f32[max(N, 2),3,5]",
        "f32[min(N, 2),3,5]", "sequence<f32>",
        "optional<f32>",      "optional<sequence<f32>>",
        "sequence<f64>"}) {
    const std::string text = StrCat("symbols N in [1, 8], M in [1, 8] graph g(",
                                    "%x: ", type, ") { return %x }");
    EXPECT_TRUE(keys.insert(KeyOf(Ingredients(text))).second) << type;
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
    EXPECT_TRUE(keys.insert(*CacheKey(graph, {}, RealTarget())).second)
        << dtype;
    Graph constant;
    const auto node =
        constant.AddNode(Op::kConstant, {}, ConstantAttrs{Literal(dtype, {2})});
    ASSERT_TRUE(constant.AddOutput("y", constant.result(*node)).ok());
    EXPECT_TRUE(keys.insert(*CacheKey(constant, {}, RealTarget())).second)
        << dtype;
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
      EXPECT_TRUE(keys.insert(*CacheKey(graph, {}, RealTarget())).second);
    }
  }
}

TEST(Key, UnusedBitsOfAConstantDoNotCount) {
  for (const int64_t count : {1, 999}) {  // inline, and by digest
    std::set<Digest> keys;
    for (const int unused : {0x00, 0x70}) {
      Literal literal(DType::kI4, {count});
      literal.mutable_bytes().back() = static_cast<std::byte>(unused | 5);
      Graph graph;
      const auto node =
          graph.AddNode(Op::kConstant, {}, ConstantAttrs{literal});
      ASSERT_TRUE(graph.AddOutput("y", graph.result(*node)).ok());
      keys.insert(*CacheKey(graph, {}, RealTarget()));
    }
    EXPECT_EQ(keys.size(), 1u) << count;
  }
}

TEST(Key, ACustomOpWithoutDigestHasNone) {
  const Graph graph = ParsedGraph(
      "graph g(%x: f32[2]) { %y = custom(%x) {name = \"mine\", dtypes = "
      "[15], ranks = [1], dims = [2]} return %y }");
  const auto key = CacheKey(graph, {}, RealTarget());
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
  KeyIngredients b =
      IngredientsOf(ParsedGraph(kMlp), {.fuse = false}, RealTarget());
  EXPECT_EQ(Explain(a, b), "option.fuse: \"true\" and \"false\"");
  Target target = RealTarget();
  const auto [name, value] = target[0];
  target[0].second = "v4";
  b = IngredientsOf(ParsedGraph(kMlp), {}, target);
  EXPECT_EQ(Explain(a, b),
            StrCat("target.", name, ": ", Quote(value), " and \"v4\""));
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
