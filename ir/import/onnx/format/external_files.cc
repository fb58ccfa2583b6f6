#include "encore/ir/import/onnx/format/external_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "encore/ir/support/folders.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Of several the last counts.
std::string_view LocationOf(const Tensor& tensor) {
  std::string_view location;
  for (const auto& [key, value] : tensor.external_data) {
    if (key == "location") location = value;
  }
  return location;
}

// Collects the files; subgraphs wait in a list, however deep they are.
class Collector {
 public:
  explicit Collector(const std::string& folder) : folder_(folder) {}

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
    if (!locations_.insert(LocationOf(tensor)).second) return;
    auto file = ExternalFile(tensor, folder_);
    if (file.ok()) files_.insert(*std::move(file));
  }

  const std::string& folder_;
  std::set<std::string_view> locations_;
  std::set<std::string> files_;
  std::vector<const Graph*> waiting_;
};

}  // namespace

StatusOr<std::string> ExternalFile(const Tensor& tensor,
                                   const std::string& folder) {
  const std::string_view location = LocationOf(tensor);
  const std::filesystem::path path = std::filesystem::path(location);
  // The file system would take what comes before a NUL.
  bool escapes = path.is_absolute() || location.empty() ||
                 location.find('\0') != std::string_view::npos;
  for (const auto& part : path) escapes |= part == "..";
  if (escapes || folder.empty()) {
    return InvalidArgumentError(StrCat("external data ", Quote(location),
                                       " lies outside the model's folder"));
  }
  // A link must not lead out either.
  const auto annotate = [&](const Status& status) {
    return Annotate(status, StrCat("external data ", Quote(location)));
  };
  const auto real = RealPathOfExisting(folder);
  if (!real.ok()) return annotate(real.status());
  const std::filesystem::path root = *real;
  const auto full = RealPathOfExisting((root / path).string());
  if (!full.ok()) return annotate(full.status());
  const std::filesystem::path file = *full;
  const auto [end, unused] =
      std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (end != root.end()) {
    return InvalidArgumentError(StrCat("external data ", Quote(location),
                                       " lies outside the model's folder"));
  }
  return *full;
}

std::string ExternalName(const Tensor& tensor, const std::string& folder) {
  return (std::filesystem::path(folder) / LocationOf(tensor))
      .lexically_normal();
}

std::vector<std::string> ExternalFiles(const Model& model,
                                       const std::string& folder) {
  Collector collector(folder);
  collector.Add(model.graph);
  for (const Function& function : model.functions) {
    collector.Add(function.nodes);
    collector.Add(function.attribute_defaults);
  }
  return std::move(collector).Take();
}

}  // namespace encore::onnx
