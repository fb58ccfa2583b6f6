#include "encore/ir/testing/round_trip.h"

#include "encore/ir/ops/op.h"
#include "encore/ir/testing/random_graph.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

TEST(RoundTrip, EveryOpInEveryDType) {
  int count = 0;
  for (const OpInfo& info : AllOps()) {
    for (const DType dtype : AllDTypes()) {
      for (const bool symbolic : {false, true}) {
        const auto graph = RandomNode(info.op, dtype, 7, symbolic);
        if (!graph) continue;
        ++count;
        EXPECT_EQ(BrokenLaw(*graph), std::nullopt) << graph->name();
      }
    }
  }
  EXPECT_GT(count, 1000);
}

TEST(RoundTrip, RandomGraphs) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const RandomGraphOptions options{.nodes = static_cast<int>(1 + seed % 24),
                                     .symbolic = seed % 3 == 0};
    EXPECT_EQ(BrokenLaw(RandomGraph(seed, options)), std::nullopt) << seed;
  }
}

}  // namespace
}  // namespace encore
