#include "encore/ir/import/import.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>

#include "encore/ir/import/native/importer.h"
#include "encore/ir/import/onnx/facts.h"
#include "encore/ir/import/onnx/importer.h"
#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/folders.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

// How often a model is read whose files are replaced meanwhile.
constexpr int kMostImports = 3;

struct Importer {
  std::string_view extension;
  StatusOr<Graph> (*import)(std::span<const std::byte> bytes,
                            std::shared_ptr<const void> owner,
                            const std::vector<std::string>& folders,
                            const ImportOptions& options, MappedFiles* files);
  // Null where the format has none.
  StatusOr<std::map<std::string, std::string>> (*metadata)(
      std::span<const std::byte> bytes);
  // Null where importing the graph is as cheap.
  StatusOr<ModelTypes> (*types)(std::span<const std::byte> bytes);
  // Null where models are one file.
  StatusOr<std::vector<std::string>> (*data_files)(
      std::span<const std::byte> bytes,
      const std::vector<std::string>& folders);
};

constexpr Importer kImporters[] = {
    {".onnx", onnx::Import, onnx::Metadata, onnx::Types, onnx::DataFiles},
    {".txt", native::ImportText, nullptr, nullptr, nullptr},
    {".pb", native::ImportProto, nullptr, nullptr, nullptr},
};

StatusOr<const Importer*> ImporterOf(const std::string& path) {
  for (const Importer& importer : kImporters) {
    if (path.ends_with(importer.extension)) return &importer;
  }
  return InvalidArgumentError(StrCat(
      path, ": no model format has this extension; known: ",
      StrJoin(kImporters, ", ", [](std::string* out, const Importer& importer) {
        out->append(importer.extension);
      })));
}

std::string FolderOf(const std::string& path) {
  const std::filesystem::path folder =
      std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

// A model's file, and the folders that others of it may lie in: that of the
// path, then, where it is a link, that of the file.
struct OpenedModel {
  std::shared_ptr<const MappedFile> file;
  std::vector<std::string> folders;
};

// The link is looked at once: file and folder are of one target, also where it
// leads elsewhere a moment later.
StatusOr<OpenedModel> OpenModel(const std::string& path) {
  const std::string target = FollowLinks(path);
  OpenedModel model;
  ENCORE_ASSIGN_OR_RETURN(model.file, MappedFile::Open(target, path));
  model.folders = {FolderOf(path)};
  if (FolderOf(target) != model.folders[0]) {
    model.folders.push_back(FolderOf(target));
  }
  return model;
}

ModelTypes TypesOf(const Graph& graph) {
  const auto type = [&](ValueId value) {
    return TensorType{graph.dtype(value), Shape(), graph.type(value).kind};
  };
  ModelTypes types;
  for (const Graph::Argument& argument : graph.arguments()) {
    if (argument.is_parameter) continue;
    types.inputs.push_back(
        {argument.name, type(argument.value), {argument.name}});
  }
  for (const Graph::Output& output : graph.outputs()) {
    types.outputs.push_back({output.name, type(output.value), {output.name}});
  }
  return types;
}

// Imports; adds the files that were opened to `files` also where that fails.
StatusOr<Graph> ImportOnce(const Importer& importer, const std::string& path,
                           const ImportOptions& options, MappedFiles* files) {
  ENCORE_ASSIGN_OR_RETURN(const OpenedModel model, OpenModel(path));
  files->push_back(model.file);
  StatusOr<Graph> graph = importer.import(model.file->bytes(), model.file,
                                          model.folders, options, files);
  if (!graph.ok()) return Annotate(graph.status(), path);
  return graph;
}

// The first of the files that is not any more what it was when it was opened;
// null where there is none.
StatusOr<const MappedFile*> FirstChanged(const MappedFiles& files) {
  for (const auto& file : files) {
    const auto now = StampOf(file->path());
    if (now.ok() && *now == file->stamp()) continue;
    if (now.ok() || now.status().code() == StatusCode::kNotFound) {
      return file.get();
    }
    return now.status();
  }
  return nullptr;
}

}  // namespace

StatusOr<Graph> ImportFile(const std::string& path,
                           const ImportOptions& options) {
  ENCORE_ASSIGN_OR_RETURN(ImportedModel model, ImportModel(path, options));
  return std::move(model.graph);
}

StatusOr<ImportedModel> ImportModel(const std::string& path,
                                    const ImportOptions& options) {
  ENCORE_ASSIGN_OR_RETURN(const Importer* importer, ImporterOf(path));
  const size_t warnings = options.warnings ? options.warnings->size() : 0;
  for (int i = 1;; ++i) {
    MappedFiles files;
    StatusOr<Graph> graph = ImportOnce(*importer, path, options, &files);
    ENCORE_ASSIGN_OR_RETURN(const MappedFile* changed, FirstChanged(files));
    if (changed == nullptr) {
      if (!graph.ok()) return graph.status();
      return ImportedModel{*std::move(graph), std::move(files)};
    }
    if (i == kMostImports) {
      return FailedPreconditionError(
          StrCat(path, ": ", changed->path(),
                 " changed each time it was read; run again once it is left "
                 "alone"));
    }
    if (options.warnings) options.warnings->resize(warnings);
  }
}

StatusOr<std::map<std::string, std::string>> ReadModelMetadata(
    const std::string& path) {
  ENCORE_ASSIGN_OR_RETURN(const Importer* importer, ImporterOf(path));
  ENCORE_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  if (importer->metadata == nullptr) {
    return std::map<std::string, std::string>();
  }
  auto metadata = importer->metadata(file->bytes());
  if (!metadata.ok()) return Annotate(metadata.status(), path);
  return metadata;
}

StatusOr<ModelTypes> ReadModelTypes(const std::string& path) {
  ENCORE_ASSIGN_OR_RETURN(const Importer* importer, ImporterOf(path));
  if (importer->types == nullptr) {
    ENCORE_ASSIGN_OR_RETURN(const Graph graph, ImportFile(path));
    return TypesOf(graph);
  }
  ENCORE_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  auto types = importer->types(file->bytes());
  if (!types.ok()) return Annotate(types.status(), path);
  return types;
}

StatusOr<std::vector<std::string>> ReadModelFiles(const std::string& path) {
  ENCORE_ASSIGN_OR_RETURN(const Importer* importer, ImporterOf(path));
  std::vector<std::string> files = {path};
  if (importer->data_files == nullptr) return files;
  ENCORE_ASSIGN_OR_RETURN(const OpenedModel model, OpenModel(path));
  const auto data = importer->data_files(model.file->bytes(), model.folders);
  if (!data.ok()) return Annotate(data.status(), path);
  files.insert(files.end(), data->begin(), data->end());
  return files;
}

}  // namespace encore
