#include "encore/ir/import/onnx/format/external_files.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "encore/ir/support/folders.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Whether `file` lies below `root`; both without links.
bool LiesIn(const std::filesystem::path& root,
            const std::filesystem::path& file) {
  return std::mismatch(root.begin(), root.end(), file.begin(), file.end())
             .first == root.end();
}

// Collects the files; subgraphs wait in a list, however deep they are.
class Collector {
 public:
  explicit Collector(const std::vector<std::string>& folders)
      : folders_(folders) {}

  void Add(const Graph& graph) {
    for (const Tensor& tensor : graph.initializers) Add(tensor);
    Add(graph.nodes);
  }
  void Add(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) Add(node.attributes);
  }
  void Add(const std::vector<Attribute>& attributes) {
    for (const Attribute& attribute : attributes) {
      if (attribute.t != nullptr) Add(*attribute.t);
      if (attribute.g != nullptr) waiting_.push_back(attribute.g.get());
    }
  }
  std::vector<std::string> Take() && {
    while (!waiting_.empty()) {
      const Graph* graph = waiting_.back();
      waiting_.pop_back();
      Add(*graph);
    }
    return {files_.begin(), files_.end()};
  }

 private:
  void Add(const Tensor& tensor) {
    if (tensor.sparse != nullptr) Add(tensor.sparse->indices);
    if (!tensor.is_external) return;
    // Many tensors lie in one file.
    if (!locations_.insert(ExternalLocation(tensor)).second) return;
    auto file = ExternalFile(tensor, folders_);
    if (file.ok()) files_.insert(std::move(file->real));
  }

  const std::vector<std::string>& folders_;
  std::set<std::string_view> locations_;
  std::set<std::string> files_;
  std::vector<const Graph*> waiting_;
};

}  // namespace

std::string_view ExternalLocation(const Tensor& tensor) {
  std::string_view location;  // of several the last counts
  for (const auto& [key, value] : tensor.external_data) {
    if (key == "location") location = value;
  }
  return location;
}

StatusOr<ExternalPath> ExternalFile(const Tensor& tensor,
                                    const std::vector<std::string>& folders) {
  const std::string_view location = ExternalLocation(tensor);
  const std::filesystem::path path = std::filesystem::path(location);
  const auto outside = [&] {
    return InvalidArgumentError(StrCat("external data ", Quote(location),
                                       " lies outside the model's folder"));
  };
  const auto annotate = [&](const Status& status) {
    return Annotate(status, StrCat("external data ", Quote(location)));
  };
  // The file system would take what comes before a NUL.
  bool escapes = path.is_absolute() || location.empty() ||
                 location.find('\0') != std::string_view::npos;
  for (const auto& part : path) escapes |= part == "..";
  if (escapes || folders.empty()) return outside();
  std::vector<std::string> roots;
  for (const std::string& folder : folders) {
    auto root = RealPathOfExisting(folder);
    if (!root.ok()) return annotate(root.status());
    roots.push_back(*std::move(root));
  }
  std::optional<ExternalPath> missing;
  for (size_t i = 0; i < folders.size(); ++i) {
    const std::string there = (std::filesystem::path(roots[i]) / path).string();
    auto real = RealPathOfExisting(there);
    if (!real.ok()) return annotate(real.status());
    // A link must not lead out either.
    if (std::ranges::none_of(roots, [&](const std::string& root) {
          return LiesIn(root, *real);
        })) {
      return outside();
    }
    ExternalPath file = {
        *std::move(real),
        (std::filesystem::path(folders[i]) / path).lexically_normal().string()};
    const auto exists = RealPath(there);
    if (exists.ok()) return file;
    if (exists.status().code() != StatusCode::kNotFound) {
      return annotate(exists.status());
    }
    if (!missing) missing = std::move(file);
  }
  return *std::move(missing);
}

std::vector<std::string> ExternalFiles(
    const Model& model, const std::vector<std::string>& folders) {
  Collector collector(folders);
  collector.Add(model.graph);
  for (const Function& function : model.functions) {
    collector.Add(function.nodes);
    collector.Add(function.attribute_defaults);
  }
  return std::move(collector).Take();
}

}  // namespace encore::onnx
