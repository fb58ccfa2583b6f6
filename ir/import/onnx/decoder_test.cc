// Attention and the other operators of autoregressive models: what must hold
// beside ONNX's own cases. Sequences in parts are as sequences in one, symbols
// are as numbers, and what makes no sense is refused by name.
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/types/literal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using testing::HasSubstr;
using Literals = std::vector<Literal>;

// An f32 tensor of numbers without a pattern, between -1 and 1.
Literal Numbers(const std::vector<int64_t>& dims, int seed) {
  Literal literal(DType::kF32, dims);
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    literal.SetDouble(i, std::sin(static_cast<double>(seed * 1000 + i * 7)));
  }
  return literal;
}

// A model of one node whose inputs are a, b, …, with the dims given; "" leaves
// an input out.
ModelText OneNode(std::string_view op,
                  const std::vector<std::vector<std::string>>& inputs,
                  const std::vector<Proto>& attributes,
                  std::string_view output = "y") {
  static constexpr std::string_view kNames[] = {"a", "b", "c", "d",
                                                "e", "f", "g"};
  ModelText text;
  text.opset = 28;
  text.inputs.clear();
  std::vector<std::string_view> names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool given = inputs[i] != std::vector<std::string>{""};
    names.push_back(given ? kNames[i] : "");
    if (!given) continue;
    const bool integers = inputs[i].front() == "i64";
    const std::vector<std::string> dims(inputs[i].begin() + integers,
                                        inputs[i].end());
    text.inputs.push_back(
        TensorInput(kNames[i], dims, integers ? kInt64 : kFloat));
  }
  std::vector<std::string_view> outputs = {"y", "z"};
  if (op != "LinearAttention" && op != "CausalConvWithState") outputs = {"y"};
  text.nodes = {Node(op, names, outputs, attributes)};
  text.output = output;
  return text;
}

Literal OutputOf(const ModelText& text, const Literals& arguments) {
  const auto graph = ImportText(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return Literal(DType::kF32, {0});
  const auto results = Evaluate(*graph, arguments);
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? (*results)[0] : Literal(DType::kF32, {0});
}

void ExpectEqual(const Literal& a, const Literal& b) {
  ASSERT_EQ(a.dims(), b.dims());
  for (int64_t i = 0; i < a.element_count(); ++i) {
    ASSERT_NEAR(a.AsDouble(i), b.AsDouble(i), 1e-5) << i;
  }
}

// Elements of dim 1 of a [1, T, W] tensor, or of dim 2 of a [1, C, L] one.
Literal Part(const Literal& whole, int axis, int64_t begin, int64_t end) {
  const std::vector<int64_t> dims = whole.dims();
  std::vector<int64_t> part = dims;
  part[axis] = end - begin;
  Literal result(DType::kF32, part);
  for (int64_t i = 0; i < result.element_count(); ++i) {
    const int64_t row = i / part[2], column = i % part[2];
    const int64_t from = axis == 1 ? (row + begin) * dims[2] + column
                                   : row * dims[2] + column + begin;
    result.SetDouble(i, whole.AsDouble(from));
  }
  return result;
}

TEST(Attention, SymbolsAreAsNumbers) {
  const std::vector<Proto> attributes = {IntAttribute("q_num_heads", 4),
                                         IntAttribute("kv_num_heads", 2),
                                         IntAttribute("is_causal", 1)};
  const Literals arguments = {Numbers({2, 3, 8}, 1), Numbers({2, 5, 4}, 2),
                              Numbers({2, 5, 6}, 3), Numbers({3, 4}, 4)};
  const Literal known = OutputOf(
      OneNode("Attention",
              {{"2", "3", "8"}, {"2", "5", "4"}, {"2", "5", "6"}, {"3", "4"}},
              attributes),
      arguments);
  const Literal open = OutputOf(
      OneNode("Attention",
              {{"N", "L", "8"}, {"N", "S", "4"}, {"N", "S", "6"}, {"L", "M"}},
              attributes),
      arguments);
  EXPECT_EQ(known.dims(), (std::vector<int64_t>{2, 3, 12}));
  ExpectEqual(open, known);
}

// The node of kAttention that the model's graph has, if any.
std::optional<AttentionAttrs> Composite(const ModelText& text) {
  const auto graph = ImportText(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return std::nullopt;
  for (const NodeId node : Nodes(*graph)) {
    if (graph->op(node) == Op::kAttention) {
      return graph->attributes(node).Get<AttentionAttrs>();
    }
  }
  return std::nullopt;
}

TEST(Attention, IsOneNodeWhereThatSaysTheSame) {
  const std::vector<std::string> query = {"B", "4", "L", "8"},
                                 key = {"B", "2", "L", "8"},
                                 other = {"B", "2", "S", "8"},
                                 past = {"B", "2", "P", "8"}, mask = {"L", "S"};
  const Proto causal = IntAttribute("is_causal", 1);
  const auto plain = Composite(OneNode("Attention", {query, other, other}, {}));
  ASSERT_TRUE(plain);
  EXPECT_DOUBLE_EQ(plain->scale, std::sqrt(0.125));
  EXPECT_FALSE(plain->causal);
  // Queries stand at the end of the keys.
  for (const auto& inputs : std::vector<std::vector<std::vector<std::string>>>{
           {query, key, key}, {query, key, key, {""}, past, past}}) {
    const auto found = Composite(OneNode("Attention", inputs, {causal}));
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->causal);
  }
  // Not known to; or other keys are hidden too: the mask says it.
  for (const auto& inputs : std::vector<std::vector<std::vector<std::string>>>{
           {query, other, other}, {query, other, other, mask}}) {
    const auto found = Composite(OneNode("Attention", inputs, {causal}));
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->causal);
  }
  // f64.
  EXPECT_FALSE(Composite(OneNode("Attention", {query, other, other},
                                 {IntAttribute("softmax_precision", 11)})));
}

TEST(Attention, WhatMakesNoSenseIsRefusedByName) {
  const std::vector<std::string> q = {"1", "2", "3", "4"};
  EXPECT_THAT(ErrorOf(OneNode("Attention", {q, q, q, {""}, q}, {})),
              HasSubstr("one of inputs past_key and past_value is given"));
  EXPECT_THAT(ErrorOf(OneNode("Attention", {q, {"1", "3", "3", "4"}, q}, {})),
              HasSubstr("the heads of Q must be a multiple of K's"));
  EXPECT_THAT(ErrorOf(OneNode("Attention", {q, q, q},
                              {IntAttribute("softmax_precision", 7)})),
              HasSubstr("attribute softmax_precision is i64"));
  EXPECT_THAT(ErrorOf(OneNode("Attention", {q, q, q, {"3", "4"}}, {})),
              HasSubstr("input attn_mask is longer than the keys"));
  const std::vector<std::string> packed = {"1", "3", "8"};
  EXPECT_THAT(ErrorOf(OneNode("Attention", {packed, packed, packed}, {})),
              HasSubstr("attribute q_num_heads is missing"));
  EXPECT_THAT(ErrorOf(OneNode("Attention", {packed, packed, packed},
                              {IntAttribute("q_num_heads", 3),
                               IntAttribute("kv_num_heads", 3)})),
              HasSubstr("input Q is f32[1,3,8], expected rank 3 and a "
                        "multiple of 3 heads"));
}

// By the whole sequence, and token by token with the state handed on.
TEST(LinearAttention, TokensOneByOne) {
  for (const std::string_view rule :
       {"linear", "gated", "delta", "gated_delta"}) {
    const bool gated = rule.starts_with("gated"),
               corrected = rule.ends_with("delta");
    const auto model = [&](std::string length, std::string_view output) {
      std::vector<std::vector<std::string>> inputs = {{"1", length, "8"},
                                                      {"1", length, "4"},
                                                      {"1", length, "6"},
                                                      {"1", "2", "2", "3"}};
      inputs.push_back(gated ? std::vector<std::string>{"1", length, "4"}
                             : std::vector<std::string>{""});
      if (corrected) inputs.push_back({"1", length, "2"});
      return OneNode(
          "LinearAttention", inputs,
          {IntAttribute("q_num_heads", 4), IntAttribute("kv_num_heads", 2),
           StringAttribute("update_rule", rule)},
          output);
    };
    const Literals whole = {Numbers({1, 3, 8}, 1), Numbers({1, 3, 4}, 2),
                            Numbers({1, 3, 6}, 3), Numbers({1, 3, 4}, 4),
                            Numbers({1, 3, 2}, 5)};
    const auto arguments = [&](const Literal& state, int64_t begin,
                               int64_t end) {
      Literals part = {Part(whole[0], 1, begin, end),
                       Part(whole[1], 1, begin, end),
                       Part(whole[2], 1, begin, end), state};
      if (gated) part.push_back(Part(whole[3], 1, begin, end));
      if (corrected) part.push_back(Part(whole[4], 1, begin, end));
      return part;
    };
    Literal state = Numbers({1, 2, 2, 3}, 6);
    const Literals all = arguments(state, 0, 3);
    const Literal y = OutputOf(model("T", "y"), all);
    const Literal last = OutputOf(model("3", "z"), all);
    for (int64_t t = 0; t < 3; ++t) {
      const Literals token = arguments(state, t, t + 1);
      ExpectEqual(OutputOf(model("1", "y"), token), Part(y, 1, t, t + 1));
      state = OutputOf(model("1", "z"), token);
    }
    ExpectEqual(state, last);
  }
}

TEST(LinearAttention, WhatMakesNoSenseIsRefusedByName) {
  const std::vector<std::string> x = {"1", "3", "4"};
  const auto error = [&](int64_t heads, std::string_view rule) {
    return ErrorOf(OneNode(
        "LinearAttention", {x, x, x},
        {IntAttribute("q_num_heads", heads), IntAttribute("kv_num_heads", 2),
         StringAttribute("update_rule", rule)}));
  };
  EXPECT_THAT(error(3, "linear"), HasSubstr("attribute q_num_heads is 3"));
  EXPECT_THAT(error(2, "gated"), HasSubstr("input decay is missing"));
  EXPECT_THAT(error(2, "delta"), HasSubstr("input beta is missing"));
  EXPECT_THAT(error(2, "cubic"), HasSubstr("attribute update_rule"));
}

TEST(CausalConvWithState, SequencesInParts) {
  const auto model = [](std::string length, std::string_view output) {
    return OneNode(
        "CausalConvWithState",
        {{"1", "2", length}, {"2", "1", "3"}, {"2"}, {"1", "2", "2"}},
        {StringAttribute("activation", "silu")}, output);
  };
  const Literal x = Numbers({1, 2, 5}, 1), kernel = Numbers({2, 1, 3}, 2),
                bias = Numbers({2}, 3), state = Numbers({1, 2, 2}, 4);
  const Literal whole = OutputOf(model("L", "y"), {x, kernel, bias, state});
  const Literals first = {Part(x, 2, 0, 1), kernel, bias, state};
  ExpectEqual(OutputOf(model("1", "y"), first), Part(whole, 2, 0, 1));
  const Literal between = OutputOf(model("1", "z"), first);
  ExpectEqual(
      OutputOf(model("4", "y"), {Part(x, 2, 1, 5), kernel, bias, between}),
      Part(whole, 2, 1, 5));
}

TEST(TensorScatter, PositionsOutsideOfTheCache) {
  const auto model = [](std::string_view mode) {
    return OneNode("TensorScatter",
                   {{"1", "4", "2"}, {"1", "2", "2"}, {"i64", "1"}},
                   {StringAttribute("mode", mode)});
  };
  const Literals arguments = {
      Numbers({1, 4, 2}, 1), Numbers({1, 2, 2}, 2),
      Literal::Vector<int64_t>(std::vector<int64_t>{3})};
  const Literal y = OutputOf(model("circular"), arguments);
  EXPECT_EQ(y.AsDouble(6), arguments[1].AsDouble(0));
  EXPECT_EQ(y.AsDouble(0), arguments[1].AsDouble(2));
  EXPECT_EQ(y.AsDouble(2), arguments[0].AsDouble(2));
  const auto linear = ImportText(model("linear"));
  ASSERT_TRUE(linear.ok()) << linear.status();
  EXPECT_FALSE(Evaluate(*linear, arguments).ok());
}

TEST(RotaryEmbedding, PositionsOutsideOfTheTable) {
  const ModelText text = OneNode(
      "RotaryEmbedding",
      {{"1", "1", "2", "4"}, {"3", "2"}, {"3", "2"}, {"i64", "1", "2"}}, {});
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  Literals arguments = {Numbers({1, 1, 2, 4}, 1), Numbers({3, 2}, 2),
                        Numbers({3, 2}, 3), Literal(DType::kI64, {1, 2})};
  arguments[3].SetDouble(1, 2);
  EXPECT_TRUE(Evaluate(*graph, arguments).ok());
  arguments[3].SetDouble(1, 3);
  EXPECT_FALSE(Evaluate(*graph, arguments).ok());
  EXPECT_THAT(
      ErrorOf(OneNode("RotaryEmbedding",
                      {{"1", "1", "2", "4"}, {"1", "2", "1"}, {"1", "2", "1"}},
                      {IntAttribute("rotary_embedding_dim", 3)})),
      HasSubstr("attribute rotary_embedding_dim is 3"));
}

// Of a newer standard is read what the newest known one says, with a warning.
TEST(Versions, NewerOnesAreWarnedOf) {
  ModelText text;
  text.nodes = {Node("Abs", {"x"}, {"y"})};
  ImportOptions options;
  std::vector<std::string> warnings;
  options.warnings = &warnings;
  text.opset = 28;
  text.ir_version = 14;
  EXPECT_EQ(ErrorOf(text, options), "no error");
  EXPECT_TRUE(warnings.empty());
  text.opset = 29;
  text.ir_version = 15;
  EXPECT_EQ(ErrorOf(text, options), "no error");
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_THAT(warnings[0], HasSubstr("ir_version 15 is newer"));
  EXPECT_THAT(warnings[1], HasSubstr("opset_import names opset 29"));
  options.strict = true;
  EXPECT_THAT(ErrorOf(text, options), HasSubstr("ir_version 15 is newer"));
  text.ir_version = 14;
  EXPECT_THAT(ErrorOf(text, options), HasSubstr("names opset 29"));
  options.strict = false;
  text.nodes = {Node("Abs", {"x"}, {"w"}),
                Node("Neg", {"w"}, {"y"}, {IntAttribute("new", 1)})};
  EXPECT_THAT(ErrorOf(text, options),
              HasSubstr("\"Neg_node\" (Neg): attribute new is not one of"));
  text.nodes = {Node("Frobnicate", {"x"}, {"y"})};
  EXPECT_THAT(ErrorOf(text, options), HasSubstr("Frobnicate of opset 29"));
}

}  // namespace
}  // namespace encore::onnx
