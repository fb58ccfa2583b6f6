#include "encore/runtime/testing/text_law.h"

#include <optional>

#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "encore/runtime/plan/compiled_graph_text.h"
#include "encore/runtime/plan/compiled_graph_text_parser.h"

namespace encore::runtime {

std::string BrokenTextLaw(const CompiledGraph& graph) {
  const std::string text = CompiledGraphText(graph);
  const auto blobs = [&](const Digest& digest) -> std::optional<Blob> {
    for (const Blob& blob : graph.blobs) {
      if (Sha256Of(blob.bytes) == digest) return blob;
    }
    return std::nullopt;
  };
  const auto read = ParseCompiledGraphText(text, blobs);
  if (!read.ok()) {
    return StrCat("not read: ", Message(read.status()), "\n", text);
  }
  if (SerializeCompiledGraph(*read) != SerializeCompiledGraph(graph)) {
    return StrCat("read as another graph:\n", text);
  }
  const std::string again = CompiledGraphText(*read);
  if (again != text) return StrCat("printed as\n", again, "\nnot as\n", text);
  return "";
}

}  // namespace encore::runtime
