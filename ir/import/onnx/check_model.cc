#include "encore/ir/import/onnx/check_model.h"

#include <set>
#include <string_view>

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

Status CheckOpsets(const Model& model) {
  if (model.ir_version < 1) {
    return InvalidArgumentError(
        StrCat("ir_version is ", model.ir_version, " or missing"));
  }
  if (model.ir_version > kNewestIrVersion) {
    return UnimplementedError(StrCat("ir_version ", model.ir_version,
                                     " is newer than ", kNewestIrVersion));
  }
  std::set<std::string_view> domains;
  for (const OpsetImport& opset : model.opsets) {
    const bool standard = IsDefaultDomain(opset.domain);
    if (!domains.insert(standard ? "" : opset.domain).second) {
      return InvalidArgumentError(StrCat("opset_import names the domain ",
                                         Quote(opset.domain), " twice"));
    }
    if (opset.version < 1 ||
        (standard && opset.version > kNewestReleasedOpset)) {
      return InvalidArgumentError(
          StrCat("opset_import names opset ", opset.version, " of the domain ",
                 Quote(opset.domain), ", which there is not"));
    }
  }
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

Status CheckGraph(const Model& model, const Graph& graph);

Status CheckOneNode(const Model& model, const Node& node) {
  ENCORE_ASSIGN_OR_RETURN(const Schema* schema, SchemaOf(model, node));
  ENCORE_RETURN_IF_ERROR(CheckNode(*schema, node));
  for (const Attribute& attribute : node.attributes) {
    if (attribute.type != AttributeType::kGraph) continue;
    if (attribute.g == nullptr) {
      return InvalidArgumentError(
          StrCat("attribute ", attribute.name, " has no graph"));
    }
    const Status body = CheckGraph(model, *attribute.g);
    if (!body.ok()) return Annotate(body, StrCat("attribute ", attribute.name));
  }
  return OkStatus();
}

// Graphs nest at most kMaxGraphDepth deep.
Status CheckGraph(const Model& model, const Graph& graph) {
  ENCORE_RETURN_IF_ERROR(CheckNames(graph.inputs, "input"));
  ENCORE_RETURN_IF_ERROR(CheckNames(graph.initializers, "initializer"));
  ENCORE_RETURN_IF_ERROR(CheckNames(graph.outputs, "output"));
  if (graph.outputs.empty()) {
    return InvalidArgumentError("the graph has no outputs");
  }
  for (const Node& node : graph.nodes) {
    const Status checked = CheckOneNode(model, node);
    if (!checked.ok()) return Annotate(checked, NodeTitle(node));
  }
  return OkStatus();
}

}  // namespace

int64_t OpsetOf(const Model& model, std::string_view domain) {
  for (const OpsetImport& opset : model.opsets) {
    if (opset.domain == domain ||
        (IsDefaultDomain(domain) && IsDefaultDomain(opset.domain))) {
      return opset.version;
    }
  }
  return IsDefaultDomain(domain) && model.ir_version < 3 ? 1 : 0;
}

StatusOr<const Schema*> SchemaOf(const Model& model, const Node& node) {
  if (node.op_type.empty()) return InvalidArgumentError("op_type is missing");
  const std::string_view domain =
      IsDefaultDomain(node.domain) ? "" : node.domain;
  if (!IsKnownDomain(domain)) {
    return UnimplementedError(
        StrCat("the domain ", Quote(node.domain), " is not known"));
  }
  const int64_t opset = OpsetOf(model, domain);
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
  return CheckGraph(model, model.graph);
}

}  // namespace encore::onnx
