#include "encore/ir/transform/specialize.h"

#include "encore/ir/graph/equal.h"
#include "encore/ir/testing/parsed_graph.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

TEST(Specialize, PutsSizesIntoShapesAttributesAndBodies) {
  const Graph graph = ParsedGraph(R"(symbols N in [1, 8], M
graph g(%c: bool[], %x: f32[N,4], %w: param f32[M] @"w") {
  %y = reshape(%x) {shape = [4*N]} @"flat"
  %z = if(%c, %y)
    graph a(%a: f32[4*N]) { return %a }
    graph b(%a: f32[4*N]) { %n = neg(%a) return %n }
  return %z, %w
})");
  const Dim sizes[] = {Dim(3)};
  const auto special = Specialize(graph, sizes);
  ASSERT_TRUE(special.ok()) << special.status();
  EXPECT_EQ(FirstDifference(*special, ParsedGraph(R"(symbols N in [1, 8], M
graph g(%c: bool[], %x: f32[3,4], %w: param f32[M] @"w") {
  %y = reshape(%x) {shape = [12]} @"flat"
  %z = if(%c, %y)
    graph a(%a: f32[12]) { return %a }
    graph b(%a: f32[12]) { %n = neg(%a) return %n }
  return %z, %w
})")),
            std::nullopt);
}

TEST(Specialize, ASizeThatFitsNoNodeIsAnErrorWithItsOrigin) {
  const Graph graph = ParsedGraph(R"(symbols N
graph g(%x: f32[N]) {
  %y = reshape(%x) {shape = [2, 3]} @"the reshape"
  return %y
})");
  const Dim sizes[] = {Dim(5)};
  const auto special = Specialize(graph, sizes);
  ASSERT_FALSE(special.ok());
  EXPECT_NE(Message(special.status()).find("the reshape"), std::string::npos);
}

}  // namespace
}  // namespace encore
