#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "encore/ir/equal.h"
#include "encore/ir/stencil.h"
#include "encore/ir/support/check.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/text/printer.h"

// Any text is refused or gives a graph for which the laws hold; any bytes are
// refused or are a stencil.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const encore::ParseOptions options{.max_repeated_bytes = 1 << 20};
  const auto graph = encore::ParseGraph(text, options);
  if (graph.ok()) {
    const std::string printed = encore::Print(*graph);
    const auto again = encore::ParseGraph(printed, options);
    ENCORE_CHECK(again.ok() && encore::Equal(*graph, *again)) << printed;
    ENCORE_CHECK(encore::Print(*again) == printed) << printed;
    const encore::Stencil stencil = encore::MakeStencil(*graph);
    ENCORE_CHECK(encore::ReadStencil(stencil.bytes, stencil.constants).ok());
  }
  const auto read = encore::ReadStencil(text, {});
  if (read.ok()) (void)encore::MakeStencil(*read);
  return 0;
}
