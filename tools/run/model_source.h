// What is run: a model file, imported, or a package, whose graph and calls are
// taken from it.
#ifndef ENCORE_TOOLS_RUN_MODEL_SOURCE_H_
#define ENCORE_TOOLS_RUN_MODEL_SOURCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "encore/cache/package/package.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/import/import.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/status.h"
#include "encore/tools/run/inputs.h"

namespace encore::tools {

// Whether the path names a package (or recording): by its ending, .encore.
bool IsPackage(const std::string& path);

// The files that OpenModel reads at that path: itself, then those of external
// data. Itself alone where it cannot be read.
std::vector<std::string> FilesOfModel(const std::string& path);

struct ModelSource {
  Graph graph;
  // Of a recording. Positional, in the order of the signature.
  std::vector<GivenTensors> calls;
  // Those that weights may lie in, as they were mapped.
  MappedFiles files;
  // What a package has beside its graph; null for a model.
  std::shared_ptr<const cache::Package> package;
};

inline constexpr char kStrictHelp[] =
    "refuse what is only warned of otherwise: versions of ONNX that are newer "
    "than known, declared shapes that are not those of the operators' results";

// The model, imported; what the importer warns of is printed.
StatusOr<ImportedModel> ImportAndWarn(const std::string& path,
                                      ImportOptions options);

// Symbols are bound by name, or by the shapes of the tensors given.
// InvalidArgument where a binding names no symbol; errors of the importer and
// of packages.
StatusOr<ModelSource> OpenModel(const std::string& path,
                                const std::map<std::string, int64_t>& bindings,
                                const GivenTensors& given, bool strict = false);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_RUN_MODEL_SOURCE_H_
