#include "encore/backends/placement_text.h"

#include <optional>
#include <string>
#include <vector>

#include "encore/ir/text/parser.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

TEST(PlacementTextTest, EntriesAreSplitAtTheLastEqualsSign) {
  EXPECT_TRUE(ParsePlacement("")->empty());
  const auto entries = ParsePlacement("x=cpu,a=b=ref:1");
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].name, "x");
  EXPECT_EQ((*entries)[0].target, "cpu");
  EXPECT_EQ((*entries)[1].name, "a=b");
  EXPECT_EQ((*entries)[1].target, "ref:1");
  EXPECT_EQ((*entries)[1].text, "a=b=ref:1");
}

TEST(PlacementTextTest, OtherFormsAreRefused) {
  for (const char* text : {"x", "x=cpu,", "x=cpu,y", ","}) {
    const Status status = ParsePlacement(text).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(Message(status).find("expected NAME=BACKEND"), std::string::npos);
  }
}

TEST(PlacementTextTest, NamesMeanArgumentsOutputsOriginsAndNumbers) {
  const auto graph = ParseGraph(R"(
graph g(%x: f32[4], %p: param f32[4]) -> f32[4] {
  %a = add(%x, %p) @"block/add"
  %dead = neg(%x) @"dead"
  %b = relu(%a) @"block/add"
  %c = exp(%b)
  return %c as y
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Stencil stencil = MakeStencil(*graph);
  const auto named = [&](std::string_view name) {
    return NodesNamed(*graph, stencil, name);
  };
  using Numbers = std::vector<uint32_t>;
  EXPECT_EQ(named("x"), Numbers{0});
  EXPECT_EQ(named("p"), Numbers{1});
  EXPECT_EQ(named("block/add"), (Numbers{2, 3}));
  EXPECT_EQ(named("y"), Numbers{4});
  EXPECT_EQ(named("#0"), Numbers{0});
  EXPECT_EQ(named("dead"), Numbers{});
  for (const char* name : {"z", "#99", "#", "#x", ""}) {
    EXPECT_EQ(named(name), std::nullopt) << name;
  }
}

// The canonical graph's origins are stencil numbers. They go before the numbers
// of the graph's own nodes, from which they differ behind a body.
TEST(PlacementTextTest, NumbersOfTheCanonicalGraphAreStencilNumbers) {
  const auto graph = ParseGraph(R"(
graph g(%c: bool[], %x: f32[4]) -> f32[4] {
  %r = if(%c, %x)
    graph t(%u: f32[4]) { %v = exp(%u) @"inner" return %v }
    graph e(%u: f32[4]) { %v = neg(%u) return %v }
  %y = relu(%r) @"last"
  return %y
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Stencil stencil = MakeStencil(*graph);
  const auto canonical = ReadStencil(stencil.bytes, stencil.constants);
  ASSERT_TRUE(canonical.ok()) << canonical.status();
  const Stencil again = MakeStencil(*canonical);
  for (const char* name : {"inner", "last"}) {
    const auto numbers = NodesNamed(*graph, stencil, name);
    ASSERT_TRUE(numbers.has_value() && numbers->size() == 1) << name;
    EXPECT_EQ(NodesNamed(*canonical, again, StencilOrigin((*numbers)[0])),
              numbers)
        << name;
  }
}

}  // namespace
}  // namespace encore::backends
