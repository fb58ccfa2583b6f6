#include <cstddef>
#include <cstdint>
#include <string_view>

#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/testing/fuzz_target.h"
#include "encore/ir/support/testing/text_mutations.h"
#include "encore/ir/testing/round_trip.h"
#include "encore/ir/text/parser.h"

// Any text is refused or gives a graph for which the laws hold; any bytes are
// refused or are a stencil.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const encore::ParseOptions options{.max_repeated_bytes = 1 << 20};
  const auto graph = encore::ParseGraph(text, options);
  if (graph.ok()) {
    const auto broken = encore::BrokenLaw(*graph);
    ENCORE_CHECK(!broken.has_value()) << *broken;
  }
  const auto read = encore::ReadStencil(text, {});
  if (read.ok()) ENCORE_CHECK_EQ(encore::MakeStencil(*read).bytes, text);
  return 0;
}

ENCORE_FUZZ_MUTATORS(encore::MutateText, encore::CrossTexts)
