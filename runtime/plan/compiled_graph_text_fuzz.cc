// Any bytes as the text of a compiled graph: they are refused or give a graph
// for which the laws of its formats hold.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "encore/ir/support/check.h"
#include "encore/ir/support/testing/fuzz_target.h"
#include "encore/ir/support/testing/text_mutations.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "encore/runtime/plan/compiled_graph_text.h"
#include "encore/runtime/plan/compiled_graph_text_parser.h"
#include "encore/runtime/plan/plan_verifier.h"
#include "encore/runtime/testing/text_law.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace encore::runtime;  // NOLINT: one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto plan = ParsePlanWithoutBlobs(text);
  const auto graph = ParseCompiledGraphText(text);
  ENCORE_CHECK(plan.ok() || !graph.ok());
  if (plan.ok()) (void)VerifyPlan(plan->graph, plan->blob_sizes);
  if (graph.ok()) ENCORE_CHECK_EQ(BrokenTextLaw(*graph), "");
  return 0;
}

ENCORE_FUZZ_MUTATORS(encore::MutateText, encore::CrossTexts)
