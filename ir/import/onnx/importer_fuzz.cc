#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "encore/ir/graph/verifier.h"
#include "encore/ir/import/onnx/importer.h"
#include "encore/ir/support/check.h"

// Any bytes are refused or give a graph that the verifier passes. ONNX's own
// models make a good corpus:
//   mkdir /tmp/corpus; i=0
//   for m in /usr/share/libonnx-testdata/data/node/*/model.onnx; do
//     cp $m /tmp/corpus/$((i++)); done
//   bazel run --config=fuzz //ir/import/onnx:importer_fuzz -- /tmp/corpus
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::make_shared<const std::string>(
      reinterpret_cast<const char*>(data), size);
  const auto graph =
      encore::onnx::Import(std::as_bytes(std::span(*bytes)), bytes, "", {});
  if (graph.ok()) ENCORE_CHECK_OK(encore::Verify(*graph));
  return 0;
}
