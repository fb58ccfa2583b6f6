// Any bytes as a compiled graph, through everything that has to be safe on one:
// the parser and the plan verifier, and the printer on what those accept.

#include <cstddef>
#include <cstdint>
#include <span>

#include "encore/runtime/plan/compiled_graph_io.h"
#include "encore/runtime/plan/compiled_graph_text.h"
#include "encore/runtime/plan/plan_verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = encore::runtime::ParseCompiledGraph(
      std::as_bytes(std::span(data, size)), nullptr);
  if (!parsed.ok()) return 0;
  encore::runtime::SerializeCompiledGraph(*parsed);
  if (encore::runtime::VerifyPlan(*parsed).ok()) {
    encore::runtime::CompiledGraphText(*parsed);
  }
  return 0;
}
