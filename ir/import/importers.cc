#include <filesystem>
#include <span>

#include "encore/ir/import/import.h"
#include "encore/ir/import/mapped_file.h"
#include "encore/ir/import/onnx/importer.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

struct Importer {
  std::string_view extension;
  StatusOr<Graph> (*import)(std::span<const std::byte> bytes,
                            std::shared_ptr<const void> owner,
                            const std::string& folder,
                            const ImportOptions& options);
};

constexpr Importer kImporters[] = {
    {".onnx", onnx::Import},
};

}  // namespace

StatusOr<Graph> ImportFile(const std::string& path,
                           const ImportOptions& options) {
  for (const Importer& importer : kImporters) {
    if (!path.ends_with(importer.extension)) continue;
    ENCORE_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
    const std::filesystem::path folder =
        std::filesystem::path(path).parent_path();
    StatusOr<Graph> graph = importer.import(
        file->bytes(), file, folder.empty() ? "." : folder.string(), options);
    if (!graph.ok()) return Annotate(graph.status(), path);
    return graph;
  }
  return InvalidArgumentError(StrCat(
      path, ": no model format has this extension; known: ",
      StrJoin(kImporters, ", ", [](std::string* out, const Importer& importer) {
        out->append(importer.extension);
      })));
}

}  // namespace encore
