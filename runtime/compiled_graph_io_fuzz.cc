#include <cstddef>
#include <cstdint>
#include <span>

#include "encore/runtime/compiled_graph_io.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = encore::runtime::ParseCompiledGraph(
      std::as_bytes(std::span(data, size)), nullptr);
  if (parsed.ok()) encore::runtime::SerializeCompiledGraph(*parsed);
  return 0;
}
