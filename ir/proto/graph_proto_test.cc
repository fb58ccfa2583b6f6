#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "encore/ir/graph/equal.h"
#include "encore/ir/proto/from_proto.h"
#include "encore/ir/proto/graph.pb.h"
#include "encore/ir/proto/to_proto.h"
#include "encore/ir/support/check.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/testing/round_trip.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

std::string Bytes(const Graph& graph) {
  const auto bytes = ToProto(graph);
  ENCORE_CHECK_OK(bytes.status());
  return *bytes;
}

// A body, symbols, data, and attributes of several kinds.
constexpr std::string_view kText = R"(symbols N in [1, 8], M at_run_time
graph g(%c: bool[], %x: f32[max(N, 2),4], %w: param f32[2] = f32[2] 1 @"w") {
  %k = constant() {value = string[2] ["a", "\xff"]}
  %t = transpose(%x) {permutation = [1, 0]} @"node\x00name"
  %z = if(%c, %t)
    graph a(%a: f32[4,max(N, 2)]) { return %a }
    graph b(%a: f32[4,max(N, 2)]) { %n = elu(%a) {alpha = nan} return %n }
  return %z, %w, %k
})";

TEST(GraphProto, TheCorpusRoundTrips) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("ir/text/testdata")) {
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    EXPECT_EQ(BrokenLaw(ParsedGraph(text.str())), std::nullopt) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 5);
  EXPECT_EQ(BrokenLaw(ParsedGraph(kText)), std::nullopt);
}

TEST(GraphProto, DataIsKeptOrLeftOut) {
  const Graph graph = ParsedGraph(kText);
  const auto bare = ToProto(graph, {.parameter_data = false});
  ASSERT_TRUE(bare.ok());
  const auto read = FromProto(*bare);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->arguments()[2].data.has_value());
  EXPECT_TRUE(FromProto(Bytes(graph))->arguments()[2].data.has_value());
}

// Changes the message of kText and reads it.
template <typename Change>
std::string ErrorAfter(const Change& change) {
  proto::Module module;
  ENCORE_CHECK(module.ParseFromString(Bytes(ParsedGraph(kText))));
  change(module, *module.mutable_graph());
  const auto graph = FromProto(module.SerializeAsString());
  return graph.ok() ? "none" : Message(graph.status());
}

TEST(GraphProto, ErrorsNameWhatIsWrong) {
  EXPECT_EQ(ErrorAfter([](auto& module, auto&) { module.set_version(2); }),
            "a graph message of version 2, expected 1");
  EXPECT_EQ(ErrorAfter([](auto&, auto& graph) {
              graph.mutable_nodes(1)->set_op("transpos");
            }),
            "node 1 (transpos): unknown op");
  EXPECT_EQ(ErrorAfter([](auto&, auto& graph) {
              graph.mutable_nodes(1)->set_operands(0, 4);
            }),
            "node 1 (transpose): operand 4 refers to a value that no earlier "
            "node defines");
  EXPECT_EQ(ErrorAfter([](auto&, auto& graph) {
              graph.mutable_nodes(1)->mutable_attributes(0)->set_name("axis");
            }),
            "node 1 (transpose): no attribute \"axis\"");
  EXPECT_EQ(ErrorAfter([](auto&, auto& graph) {
              graph.mutable_nodes(1)->mutable_attributes(0)->set_integer(1);
            }),
            "node 1 (transpose): permutation: the value is of the wrong kind "
            "for this attribute");
  EXPECT_EQ(ErrorAfter([](auto&, auto& graph) {
              graph.mutable_nodes(1)->mutable_results(0)->set_dtype("f64");
            }),
            "node 1 (transpose): result 0 is f32[4,max(N, 2)], not "
            "f64[4,max(N, 2)]");
  EXPECT_EQ(ErrorAfter([](auto&, auto& graph) {
              *graph.mutable_arguments(0)->mutable_data() =
                  graph.arguments(2).data();
            }),
            "argument \"c\": an input cannot have data, only a parameter can");
  EXPECT_EQ(
      ErrorAfter([](auto&, auto& graph) {
        graph.mutable_arguments(2)->mutable_data()->set_dims(0, 1 << 30);
      }),
      "argument \"w\": a tensor of type f32[1073741824] has 4294967296 bytes, "
      "not 8");
  EXPECT_EQ(ErrorAfter([](auto&, auto& graph) {
              graph.mutable_outputs(0)->set_value(99);
            }),
            "output \"z\": no value 99");
}

TEST(GraphProto, DimsAreChecked) {
  EXPECT_EQ(ErrorAfter([](auto&, auto& graph) {
              proto::Type* type = graph.mutable_arguments(1)->mutable_type();
              proto::Dim* dim = type->mutable_dims()->mutable_items(0);
              dim->add_terms()->add_factors()->set_symbol(7);
            }),
            "argument \"x\": invalid dim");
}

TEST(GraphProto, BodiesMayNestDeep) {
  Graph graph;
  const auto input = graph.AddInput("c", {DType::kBool, Shape()});
  Graph body = graph.NewBody("b");
  const auto inner = body.AddInput("c", {DType::kBool, Shape()});
  ENCORE_CHECK_OK(body.AddOutput("o", *inner));
  const auto wrap = [&](const Graph& owner, Graph inside) {
    Graph outside = owner.NewBody("b");
    const auto c = outside.AddInput("c", {DType::kBool, Shape()});
    Graph::NodeOptions options;
    Graph other = owner.NewBody("e");
    ENCORE_CHECK_OK(
        other.AddOutput("o", *other.AddInput("c", {DType::kBool, Shape()})));
    options.bodies.push_back(std::move(inside));
    options.bodies.push_back(std::move(other));
    const ValueId operands[] = {*c, *c};
    const auto node =
        outside.AddNode(Op::kIf, operands, NoneAttrs(), std::move(options));
    ENCORE_CHECK_OK(node.status());
    ENCORE_CHECK_OK(outside.AddOutput("o", outside.result(*node)));
    return outside;
  };
  for (int i = 0; i < kMaxBodyDepth; ++i) body = wrap(graph, std::move(body));
  ENCORE_CHECK(input.ok());
  EXPECT_EQ(BrokenLaw(body), std::nullopt);
}

// A field of a message that is bytes.
std::string Field(int number, const std::string& content) {
  std::string bytes(1, static_cast<char>(number << 3 | 2));
  size_t length = content.size();
  for (; length >= 0x80; length >>= 7) {
    bytes += static_cast<char>(length | 0x80);
  }
  return bytes + static_cast<char>(length) + content;
}

// Written by hand: the library's own objects overflow the stack where they are
// this deep.
std::string ErrorOfNested(int depth) {
  proto::Node node;
  node.set_op("if");
  const std::string op = node.SerializeAsString();
  std::string graph;
  for (; depth > 0; --depth) {
    graph = Field(proto::Graph::kNodesFieldNumber,
                  op + Field(proto::Node::kBodiesFieldNumber, graph));
  }
  proto::Module module;
  module.set_version(1);
  return Message(FromProto(module.SerializeAsString() +
                           Field(proto::Module::kGraphFieldNumber, graph))
                     .status());
}

TEST(GraphProto, DeeperBodiesAreRefused) {
  EXPECT_NE(ErrorOfNested(kMaxBodyDepth + 1).find("nest deeper than 64"),
            std::string::npos);
  EXPECT_EQ(ErrorOfNested(10000), "not a graph message, or a truncated one");
}

// Cut off, with bytes changed, and nested without end: refused or a graph.
TEST(GraphProto, AnyBytesAreSafe) {
  const std::string bytes = Bytes(ParsedGraph(kText));
  for (size_t size = 0; size < bytes.size(); ++size) {
    (void)FromProto(bytes.substr(0, size));
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = bytes;
    for (int changes = 1 + i % 3; changes > 0; --changes) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    const auto graph = FromProto(damaged);
    if (graph.ok()) EXPECT_EQ(BrokenLaw(*graph), std::nullopt);
  }
  // Field 3 of Module and Graph around field 4 of Node, without end.
  std::string nested(100000, '\x1a');
  EXPECT_FALSE(FromProto(nested).ok());
  EXPECT_FALSE(FromProto("").ok());
}

}  // namespace
}  // namespace encore
