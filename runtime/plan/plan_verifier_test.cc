#include "encore/runtime/plan/plan_verifier.h"

#include <string>
#include <string_view>
#include <vector>

#include "encore/runtime/plan/compiled_graph_text_parser.h"
#include "encore/runtime/testing/plan_file.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

std::string Finding(const Status& status) {
  return status.ok() ? "OK" : Message(status);
}

// The file's plan as it is, and without its blobs' bytes.
void ExpectFinding(std::string_view text, std::string_view expected) {
  const auto graph = ParseCompiledGraphText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(Finding(VerifyPlan(*graph)), expected);
  auto plan = ParsePlanWithoutBlobs(text);
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (Blob& blob : plan->graph.blobs) blob = Blob();
  EXPECT_EQ(Finding(VerifyPlan(plan->graph, plan->blob_sizes)), expected);
}

// Each file says what is wrong with it.
TEST(PlanVerifier, EachInvariantHasAFailingPlan) {
  std::vector<int> cases(21);
  for (const std::string& path : PlanFiles("runtime/plan/testdata/verifier")) {
    SCOPED_TRACE(path);
    const std::string text = ReadPlanText(path);
    const auto expected = Expectations(text);
    ASSERT_EQ(expected.size(), 1u);
    ExpectFinding(text, expected[0]);
    const std::string_view finding = expected[0];
    ++cases[finding == "OK" ? 0 : std::stoi(std::string(finding.substr(1)))];
  }
  for (int i = 0; i <= 20; ++i) EXPECT_GT(cases[i], 0) << "P" << i;
}

TEST(PlanVerifier, EmptyGraphsAndDeepNesting) {
  EXPECT_FALSE(VerifyPlan(CompiledGraph{}).ok());
  TestGraph g;
  EXPECT_TRUE(VerifyPlan(g.graph).ok());
  const SlotId selector = g.Tensor(SlotRole::kInput, {}, DType::kI32);
  PlanId plan = g.run;
  for (int depth = 1; depth < 9; ++depth) {
    EXPECT_TRUE(VerifyPlan(g.graph).ok()) << depth;
    Invoke invoke;
    invoke.plans = {AddPlan(&g.graph, {})};
    invoke.selector = selector;
    g.Add({invoke, {}}, plan);
    plan = invoke.plans[0];
  }
  EXPECT_EQ(Message(VerifyPlan(g.graph)).substr(0, 3), "P7:");
}

}  // namespace
}  // namespace encore::runtime
