#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "encore/ir/graph/verifier.h"
#include "encore/ir/import/onnx/importer.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/testing/fuzz_target.h"
#include "encore/ir/support/testing/wire_mutations.h"

// Any bytes are refused or give a graph that the verifier passes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::make_shared<const std::string>(
      reinterpret_cast<const char*>(data), size);
  const auto graph =
      encore::onnx::Import(std::as_bytes(std::span(*bytes)), bytes, {}, {});
  if (graph.ok()) ENCORE_CHECK_OK(encore::Verify(*graph));
  return 0;
}

ENCORE_FUZZ_MUTATORS(encore::MutateMessage, encore::CrossMessages)
