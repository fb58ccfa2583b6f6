#include "encore/ir/import/onnx/check_model.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/check_node.h"
#include "encore/ir/import/onnx/node_order.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The newest file format that this reader was written against.
constexpr int64_t kNewestIrVersion = 13;
// The newest opset that ONNX has released. Of those that are newer than the
// table of operators, what did not change since is read.
constexpr int64_t kNewestReleasedOpset = 28;

bool IsDefaultDomain(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx";
}

Status CheckImports(const OpsetImports& opsets) {
  for (size_t i = 0; i < opsets.size(); ++i) {
    const auto& [domain, version] = opsets[i];
    if (i > 0 && opsets[i - 1].domain == domain) {
      return InvalidArgumentError(
          StrCat("opset_import names the domain ", Quote(domain), " twice"));
    }
    if (version < 1 || (domain.empty() && version > kNewestReleasedOpset)) {
      return InvalidArgumentError(StrCat("opset_import names opset ", version,
                                         " of the domain ", Quote(domain),
                                         ", which there is not"));
    }
  }
  return OkStatus();
}

Status CheckOpsets(const Model& model) {
  if (model.ir_version < 1) {
    return InvalidArgumentError(
        StrCat("ir_version is ", model.ir_version, " or missing"));
  }
  if (model.ir_version > kNewestIrVersion) {
    return UnimplementedError(StrCat("ir_version ", model.ir_version,
                                     " is newer than ", kNewestIrVersion));
  }
  ENCORE_RETURN_IF_ERROR(CheckImports(model.opsets));
  // Files before ir_version 3 have no list, and are of opset 1.
  if (model.ir_version >= 3 && model.opsets.empty()) {
    return InvalidArgumentError(
        "opset_import does not name the default domain");
  }
  return OkStatus();
}

// Names that `values` declare: none is empty, and none there twice.
template <typename Values>
Status CheckNames(const Values& values, std::string_view what) {
  std::set<std::string_view> names;
  for (const auto& value : values) {
    if (value.name.empty()) {
      return InvalidArgumentError(StrCat("an ", what, " has no name"));
    }
    if (!names.insert(value.name).second) {
      return InvalidArgumentError(StrCat("the name ", Quote(value.name),
                                         " is given to two ", what, "s"));
    }
  }
  return OkStatus();
}

// Goes over graphs, which nest at most kMaxGraphDepth deep.
class GraphChecker {
 public:
  explicit GraphChecker(const Model& model) : model_(model) {}

  Status Check(const Graph& graph) {
    ENCORE_RETURN_IF_ERROR(CheckNames(graph.inputs, "input"));
    ENCORE_RETURN_IF_ERROR(CheckNames(graph.initializers, "initializer"));
    ENCORE_RETURN_IF_ERROR(CheckNames(graph.outputs, "output"));
    if (graph.outputs.empty()) {
      return InvalidArgumentError("the graph has no outputs");
    }
    std::vector<std::string_view> own;
    for (const ValueInfo& input : graph.inputs) Show(input.name, &own);
    for (const Tensor& tensor : graph.initializers) Show(tensor.name, &own);
    for (const Node& node : graph.nodes) {
      const Status checked = Check(node, &own);
      if (!checked.ok()) return Annotate(checked, NodeTitle(node));
    }
    for (const std::string_view name : own) visible_.erase(name);
    return OkStatus();
  }

 private:
  // Whether the name was not visible before.
  bool Show(std::string_view name, std::vector<std::string_view>* own) {
    if (!visible_.insert(name).second) return false;
    own->push_back(name);
    return true;
  }

  Status Check(const Node& node, std::vector<std::string_view>* own) {
    ENCORE_ASSIGN_OR_RETURN(const Schema* schema, SchemaOf(model_, node));
    ENCORE_RETURN_IF_ERROR(CheckNode(*schema, node));
    for (const Attribute& attribute : node.attributes) {
      if (attribute.type != AttributeType::kGraph) continue;
      if (attribute.g == nullptr) {
        return InvalidArgumentError(
            StrCat("attribute ", attribute.name, " has no graph"));
      }
      const Status body = Check(*attribute.g);
      if (!body.ok()) {
        return Annotate(body, StrCat("attribute ", attribute.name));
      }
    }
    for (const std::string_view output : node.outputs) {
      if (output.empty() || Show(output, own)) continue;
      return InvalidArgumentError(
          StrCat("output ", Quote(output), " is produced elsewhere too"));
    }
    return OkStatus();
  }

  const Model& model_;
  // Names that nodes may read here.
  std::set<std::string_view> visible_;
};

}  // namespace

int64_t OpsetOf(const Model& model, const Node& node) {
  const std::string_view domain =
      IsDefaultDomain(node.domain) ? "" : node.domain;
  const OpsetImports& opsets = node.opsets ? *node.opsets : model.opsets;
  const auto found =
      std::lower_bound(opsets.begin(), opsets.end(), domain,
                       [](const OpsetImport& opset, std::string_view name) {
                         return opset.domain < name;
                       });
  if (found != opsets.end() && found->domain == domain) return found->version;
  return domain.empty() && model.ir_version < 3 ? 1 : 0;
}

StatusOr<const Schema*> SchemaOf(const Model& model, const Node& node) {
  if (node.op_type.empty()) return InvalidArgumentError("op_type is missing");
  const std::string_view domain =
      IsDefaultDomain(node.domain) ? "" : node.domain;
  if (!IsKnownDomain(domain)) {
    return UnimplementedError(
        StrCat("the domain ", Quote(node.domain), " is not known"));
  }
  const int64_t opset = OpsetOf(model, node);
  if (opset < 1) {
    return InvalidArgumentError(
        StrCat("opset_import does not name the ",
               domain.empty() ? "default domain" : StrCat("domain ", domain)));
  }
  const auto schema = FindSchema(domain, node.op_type, opset);
  if (!schema.ok()) return UnimplementedError(Message(schema.status()));
  return schema;
}

Status CheckModel(const Model& model) {
  if (!model.has_graph) {
    return InvalidArgumentError("no graph (no ONNX model, or an empty one)");
  }
  ENCORE_RETURN_IF_ERROR(CheckOpsets(model));
  for (const Function& function : model.functions) {
    const Status imports = CheckImports(function.opsets);
    if (!imports.ok()) {
      return Annotate(imports, StrCat("function ", Quote(function.name)));
    }
  }
  return GraphChecker(model).Check(model.graph);
}

}  // namespace encore::onnx
