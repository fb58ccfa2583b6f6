// The files of testdata/layouts: graphs whose nodes are a kernel each, and
// where values change their layout for a backend that wants blocks of 8
// channels (Blocking); without a choice of layouts nothing changes.
#include <string>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/conformance/blocking_backend.h"
#include "encore/backends/lowering/lowering_report.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/text_cases.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

StatusOr<std::string> Changes(const TextCase& text_case, Optimizer optimizer) {
  ENCORE_ASSIGN_OR_RETURN(const Graph graph, text_case.Parse());
  ENCORE_ASSIGN_OR_RETURN(const Backend* inner, FindBackend("ref"));
  const Blocking backend(*inner, 8);
  const Backend* const backends[] = {&backend};
  CompileOptions options;
  options.target = backend.name();
  options.fuse = false;
  options.optimizer = optimizer;
  options.rewrites = Rewrites::kNone;
  LoweringReport report;
  ENCORE_RETURN_IF_ERROR(ReportLowering(graph, options, backends, &report));
  const LayoutReport& layouts = report.scopes.back().layouts;
  std::string text = StrCat(report.scopes.back().kernels, " kernels and ",
                            layouts.changes.size(), " copies\n");
  for (const LayoutReport::Change& change : layouts.changes) {
    StrAppend(&text, change.value, ": ", change.from, " -> ", change.to, "\n");
  }
  return text;
}

class LayoutCases : public testing::TestWithParam<TextCase> {};

TEST_P(LayoutCases, AreAsWritten) {
  CheckTextCase(GetParam(), Changes(GetParam(), Optimizer::kEGraph),
                Changes(GetParam(), Optimizer::kGreedy));
}

std::vector<TextCase> Cases() {
  return ReadTextCases("backends/lowering/testdata/layouts");
}

INSTANTIATE_TEST_SUITE_P(Testdata, LayoutCases, testing::ValuesIn(Cases()),
                         [](const testing::TestParamInfo<TextCase>& info) {
                           return info.param.name;
                         });

TEST(LayoutCaseCounts, ThereAreEnough) { EXPECT_GE(Cases().size(), 5); }

}  // namespace
}  // namespace encore::backends
