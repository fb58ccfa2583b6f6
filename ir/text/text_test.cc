#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "encore/ir/graph/equal.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/text/printer.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

struct File {
  std::string name, text;
};

std::vector<File> Corpus() {
  std::vector<File> files;
  for (const auto& entry :
       std::filesystem::directory_iterator("ir/text/testdata")) {
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    files.push_back({entry.path().filename(), text.str()});
  }
  return files;
}

std::string ErrorOf(std::string_view text) {
  const auto graph = ParseGraph(text);
  EXPECT_FALSE(graph.ok()) << text;
  return graph.ok() ? "" : Message(graph.status());
}

// The corpus is printed text; so each law is checked on each file.
TEST(Text, RoundTripOnTheCorpus) {
  ASSERT_GE(Corpus().size(), 5u);
  for (const File& file : Corpus()) {
    const Graph graph = ParsedGraph(file.text);
    EXPECT_EQ(Print(graph), file.text) << file.name;
    EXPECT_EQ(FirstDifference(graph, ParsedGraph(Print(graph))), std::nullopt);
    EXPECT_EQ(
        FirstDifference(graph, ParsedGraph(Print(graph, {.types = true}))),
        std::nullopt);
  }
}

TEST(Text, ParameterDataIsKeptOrLeftOut) {
  const std::string text =
      "graph g(%w: param f32[2] = f32[2] [1, 2] @\"weight\") -> f32[2] {\n"
      "  return %w\n"
      "}\n";
  const Graph graph = ParsedGraph(text);
  ASSERT_TRUE(graph.arguments()[0].data.has_value());
  EXPECT_EQ(graph.arguments()[0].data->AsDouble(1), 2);
  EXPECT_EQ(Print(graph), text);
  EXPECT_FALSE(ParsedGraph(Print(graph, {.parameter_data = false}))
                   .arguments()[0]
                   .data.has_value());
}

TEST(Text, LargeConstantsAreBytes) {
  Graph graph;
  Literal literal(DType::kF32, {1000});
  for (int i = 0; i < 1000; ++i) literal.SetDouble(i, i / 7.0);
  const auto node = graph.AddNode(Op::kConstant, {}, ConstantAttrs{literal});
  ASSERT_TRUE(graph.AddOutput("y", graph.result(*node)).ok());
  const std::string text = Print(graph);
  EXPECT_NE(text.find("f32[1000] hex \"00000000"), std::string::npos);
  EXPECT_EQ(FirstDifference(graph, ParsedGraph(text)), std::nullopt);
}

// Every bit pattern of the narrow formats, and odd ones of the wide.
TEST(Text, EveryBitPatternRoundTrips) {
  for (const DType dtype : AllDTypes()) {
    if (IsString(dtype)) continue;
    const int width = BitWidth(dtype);
    const int64_t count = width <= 8 ? 256 : 250;
    Literal literal(dtype, {count});
    uint64_t state = 1;
    for (std::byte& byte : literal.mutable_bytes()) {
      byte = static_cast<std::byte>(width <= 8 ? state - 1 : state >> 56);
      state = width <= 8 ? state + 1 : state * 6364136223846793005u + 144269;
    }
    Graph graph;
    const auto node = graph.AddNode(Op::kConstant, {}, ConstantAttrs{literal});
    ASSERT_TRUE(graph.AddOutput("y", graph.result(*node)).ok());
    const std::string text = Print(graph);
    EXPECT_EQ(text.find("hex"), std::string::npos) << dtype;
    EXPECT_EQ(FirstDifference(graph, ParsedGraph(text)), std::nullopt) << dtype;
  }
}

TEST(Text, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(ErrorOf("graph g(%x: f33[2]) { return }"),
            "1:13: expected a dtype, found \"f33\"");
  EXPECT_EQ(ErrorOf("graph g(%x: f32[2]) {\n  %y = relo(%x)\n  return %y\n}"),
            "2:8: expected an op, or return, found \"relo\"");
  EXPECT_EQ(ErrorOf("graph g(%x: f32[2]) {\n  return %z\n}"),
            "2:10: no value %z");
  EXPECT_EQ(ErrorOf("graph g(%x: f32[2]) -> f32[3] {\n  return %x\n}"),
            "1:24: output 0 is f32[2], not f32[3]");
  EXPECT_EQ(ErrorOf("graph g(%x: f32[2]) {\n  %y = softmax(%x) {axes = 1}\n"),
            "2:21: no attribute axes, expected axis");
  EXPECT_EQ(ErrorOf("graph g(%x: f32[2]) {\n  %y, %z = relu(%x)\n  return\n}"),
            "2:12: relu has 1 results, not 2");
  EXPECT_EQ(ErrorOf("graph g() {\n  %c = constant() {value = i8[1] 300}"),
            "2:34: expected an element of type i8, found \"300\"");
  EXPECT_EQ(ErrorOf("graph g() { return } graph"),
            "1:22: expected the end of the text, found \"graph\"");
  EXPECT_EQ(ErrorOf(""), "1:1: expected 'graph', found the end of the text");
}

TEST(Text, HostileTextIsRefused) {
  EXPECT_EQ(ErrorOf("graph g() {\n  %c = constant() {value = "
                    "f32[1152921504606846976] 1}\n  return\n}"),
            "2:53: a constant of 1152921504606846976 elements is too large to "
            "repeat");
  ErrorOf(
      "graph g() { %c = constant() {value = f32[4611686018427387904,4] []}");
  ErrorOf(StrCat("graph g(%x: f32[", std::string(100000, '('), "1])"));
  std::string nested = "graph g(%c: bool[]) {";
  for (int i = 0; i < 10000; ++i) nested += "%x = if(%c) graph b(%c: bool[]) {";
  EXPECT_NE(ErrorOf(nested).find("bodies nest deeper than"), std::string::npos);
  ErrorOf(std::string(1000, '\0'));
}

TEST(Text, EveryPrefixOfTheCorpusIsAnErrorOrAGraph) {
  for (const File& file : Corpus()) {
    for (size_t size = 0; size + 2 < file.text.size(); ++size) {
      EXPECT_FALSE(ParseGraph(file.text.substr(0, size)).ok());
    }
  }
}

TEST(Stencil, RoundTripOnTheCorpus) {
  for (const File& file : Corpus()) {
    const Graph graph = ParsedGraph(file.text);
    const Stencil stencil = MakeStencil(graph);
    const auto read = ReadStencil(stencil.bytes, stencil.constants);
    ASSERT_TRUE(read.ok()) << file.name << read.status();
    EXPECT_EQ(MakeStencil(*read).bytes, stencil.bytes) << file.name;
    // In the canonical graph each node's origin is its number.
    const Stencil again = MakeStencil(*read);
    for (uint32_t i = 0; i < again.places.size(); ++i) {
      const Stencil::Place& place = again.places[i];
      EXPECT_EQ(StencilNumber(place.graph->origin(place.node)), i);
      EXPECT_EQ(again.NumberOf(*place.graph, place.node), i);
    }
    for (size_t size = 0; size < stencil.bytes.size(); ++size) {
      EXPECT_FALSE(
          ReadStencil(stencil.bytes.substr(0, size), stencil.constants).ok());
    }
  }
}

// What is read in another form than it is written would give a second key to
// one graph: an output moved away from the only user of a node, say.
TEST(Stencil, WhateverIsReadIsTheStencilOfIt) {
  for (const File& file : Corpus()) {
    const Stencil stencil = MakeStencil(ParsedGraph(file.text));
    for (size_t bit = 0; bit < 8 * stencil.bytes.size(); ++bit) {
      std::string bytes = stencil.bytes;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      const auto read = ReadStencil(bytes, stencil.constants);
      if (!read.ok()) continue;
      ASSERT_EQ(MakeStencil(*read).bytes, bytes) << file.name << " " << bit;
    }
  }
}

TEST(Stencil, NamesOrderAndDataDoNotCount) {
  const Graph a = ParsedGraph(R"(symbols N in [1, 8]
graph a(%x: f32[N], %w: param f32[2] = f32[2] [1, 2]) {
  %e = exp(%x) @"one"
  %l = log(%x)
  %dead = neg(%x)
  %s = add(%e, %l)
  return %s, %w
})");
  const Graph b = ParsedGraph(R"(symbols UNUSED, M in [1, 8]
graph b(%in: f32[M], %v: param f32[2] = f32[2] [7, 8]) {
  %2 = log(%in)
  %1 = exp(%in) @"two"
  %sum = add(%1, %2)
  return %sum as out, %v
})");
  EXPECT_EQ(MakeStencil(a).bytes, MakeStencil(b).bytes);
}

TEST(Stencil, LargeConstantsAreDigests) {
  Graph graph;
  const Literal literal(DType::kF32, {1000});
  for (const char* name : {"y", "z"}) {
    const auto node = graph.AddNode(Op::kConstant, {}, ConstantAttrs{literal});
    ASSERT_TRUE(graph.AddOutput(name, graph.result(*node)).ok());
  }
  const Stencil stencil = MakeStencil(graph);
  EXPECT_EQ(stencil.constants.size(), 1u);
  EXPECT_LT(stencil.bytes.size(), 200u);
  EXPECT_TRUE(ReadStencil(stencil.bytes, stencil.constants).ok());
  EXPECT_FALSE(ReadStencil(stencil.bytes, {}).ok());
}

TEST(Stencil, ACustomOpWithoutDigestHasNoIdentity) {
  const Graph graph = ParsedGraph(
      "graph g(%x: f32[2]) { %y = custom(%x) {name = \"mine\", dtypes = "
      "[15], ranks = [1], dims = [2]} return %y }");
  EXPECT_TRUE(MakeStencil(graph).unkeyable.has_value());
}

}  // namespace
}  // namespace encore
