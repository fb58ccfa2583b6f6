#include "encore/tools/run/model_source.h"

#include <utility>

#include "encore/cache/package/package.h"
#include "encore/cache/package/package_graph.h"
#include "encore/ir/import/import.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

StatusOr<ModelSource> OpenPackage(const std::string& path) {
  ENCORE_ASSIGN_OR_RETURN(cache::Package package, cache::ReadPackage(path));
  auto graph = cache::NamedGraphOf(package);
  if (!graph.ok()) return Annotate(graph.status(), path);
  ModelSource source{*std::move(graph), {}, package.files, nullptr};
  for (const cache::Package::Call& call : package.calls) {
    GivenTensors given;
    given.positional_inputs = call.inputs;
    given.positional_expected = call.outputs;
    source.calls.push_back(std::move(given));
  }
  source.package = std::make_shared<const cache::Package>(std::move(package));
  return source;
}

}  // namespace

bool IsPackage(const std::string& path) { return path.ends_with(".encore"); }

std::vector<std::string> FilesOfModel(const std::string& path) {
  if (!IsPackage(path)) {
    auto files = ReadModelFiles(path);
    if (files.ok()) return *std::move(files);
  }
  return {path};
}

StatusOr<ImportedModel> ImportAndWarn(const std::string& path,
                                      ImportOptions options) {
  std::vector<std::string> warnings;
  options.warnings = &warnings;
  StatusOr<ImportedModel> model = ImportModel(path, options);
  for (const std::string& warning : warnings) {
    PrintLog(StrCat("warning: ", path, ": ", warning));
  }
  return model;
}

StatusOr<ModelSource> OpenModel(const std::string& path,
                                const std::map<std::string, int64_t>& bindings,
                                const GivenTensors& given, bool strict) {
  if (IsPackage(path)) return OpenPackage(path);
  ImportOptions options;
  options.strict = strict;
  options.bindings = bindings;
  for (const auto& [name, tensor] : given.inputs) {
    if (auto extents = ExtentsOf(tensor)) {
      options.input_shapes[name] = *std::move(extents);
    }
  }
  for (const Literal& tensor : given.positional_inputs) {
    options.positional_shapes.push_back(ExtentsOf(tensor));
  }
  ENCORE_ASSIGN_OR_RETURN(ImportedModel model, ImportAndWarn(path, options));
  return ModelSource{
      std::move(model.graph), {}, std::move(model.files), nullptr};
}

}  // namespace encore::tools
