#include "encore/ir/import/onnx/format/check_model.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "encore/ir/import/onnx/format/check_node.h"
#include "encore/ir/import/onnx/format/node_order.h"
#include "encore/ir/import/onnx/format/schema.h"
#include "encore/ir/import/onnx/format/upgrade.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The newest file format that this reader was written against.
constexpr int64_t kNewestIrVersion = 14;

// The newest version of a domain that the table of operators has.
int64_t NewestVersion(std::string_view domain) {
  if (domain.empty()) return kNewestOpset;
  if (domain == "ai.onnx.ml") return kNewestMlOpset;
  return IsKnownDomain(domain) ? 1 : std::numeric_limits<int64_t>::max();
}

constexpr std::string_view kMicrosoft = "com.microsoft";

bool IsDefaultDomain(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx";
}

Status CheckImports(const OpsetImports& opsets, Warnings& warnings) {
  for (size_t i = 0; i < opsets.size(); ++i) {
    const auto& [domain, version] = opsets[i];
    // Said twice it is still said, as some exporters do.
    if (i > 0 && opsets[i - 1].domain == domain &&
        opsets[i - 1].version != version) {
      return InvalidArgumentError(StrCat("opset_import names the domain ",
                                         Quote(domain),
                                         " twice, with different versions"));
    }
    const std::string what = StrCat("opset_import names opset ", version,
                                    " of the domain ", Quote(domain));
    if (version < 1) {
      return InvalidArgumentError(StrCat(what, ", which does not exist"));
    }
    if (version <= NewestVersion(domain)) continue;
    ENCORE_RETURN_IF_ERROR(warnings.Add(InvalidArgumentError(
        StrCat(what, ", newer than the newest that is known, ",
               NewestVersion(domain)))));
  }
  return OkStatus();
}

Status CheckOpsets(const Model& model, Warnings& warnings) {
  if (model.ir_version < 1) {
    return InvalidArgumentError(StrCat("ir_version ", model.ir_version,
                                       " does not exist, or is missing"));
  }
  if (model.ir_version > kNewestIrVersion) {
    ENCORE_RETURN_IF_ERROR(warnings.Add(UnimplementedError(StrCat(
        "ir_version ", model.ir_version,
        " is newer than the newest that is known, ", kNewestIrVersion))));
  }
  ENCORE_RETURN_IF_ERROR(CheckImports(model.opsets, warnings));
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
  NameSet names;
  for (const auto& value : values) {
    if (value.name.empty()) {
      return InvalidArgumentError(
          StrCat(what, " #", &value - values.data(), " has no name"));
    }
    if (!names.insert(value.name).second) {
      return InvalidArgumentError(StrCat("the name ", Quote(value.name),
                                         " is given to two ", what, "s"));
    }
  }
  return OkStatus();
}

// Domain, name and overload of functions.
using FunctionKeys =
    std::set<std::tuple<std::string_view, std::string_view, std::string_view>>;

std::string_view DomainOf(std::string_view domain) {
  return IsDefaultDomain(domain) ? "" : domain;
}

// Goes over graphs, which nest at most kMaxGraphDepth deep. Calls of functions
// are not looked into.
class GraphChecker {
 public:
  // `function`: the one that the nodes are in, if any.
  GraphChecker(const Model& model, const FunctionKeys& functions,
               Warnings& warnings, const Function* function = nullptr)
      : model_(model),
        functions_(functions),
        warnings_(warnings),
        function_(function) {}

  Status CheckFunction() {
    std::vector<std::string_view> own;
    for (const std::string_view input : function_->inputs) {
      if (input.empty() || !Show(input, &own)) {
        return InvalidArgumentError(StrCat("the name ", Quote(input),
                                           " of an input is empty or given "
                                           "twice"));
      }
    }
    const NameSet inputs = visible_;
    for (const Node& node : function_->nodes) {
      const Status checked = Check(node, &own);
      if (!checked.ok()) return Annotate(checked, NodeTitle(node));
    }
    for (const std::string_view output : function_->outputs) {
      if (visible_.contains(output)) continue;
      return InvalidArgumentError(
          StrCat("output ", Quote(output), " is not produced by any node"));
    }
    return CheckOrder(function_->nodes, inputs);
  }

  Status Check(const Graph& graph) {
    graphs_.push_back(&graph);
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
    graphs_.pop_back();
    return OkStatus();
  }

 private:
  // Whether the name was not visible before.
  bool Show(std::string_view name, std::vector<std::string_view>* own) {
    if (!visible_.insert(name).second) return false;
    own->push_back(name);
    return true;
  }

  // Whether a node that is still to come, here or in a graph around, makes
  // `name`. Only asked of models that are wrong: nodes are sorted.
  bool ComesLater(std::string_view name) const {
    return std::ranges::any_of(graphs_, [&](const Graph* graph) {
      return std::ranges::any_of(graph->nodes, [&](const Node& node) {
        return std::ranges::count(node.outputs, name) > 0;
      });
    });
  }

  // In subgraphs; of others CheckOrder says what is wrong.
  Status CheckReads(const Node& node) const {
    if (graphs_.size() < 2) return OkStatus();
    for (const std::string_view input : node.inputs) {
      if (input.empty() || visible_.contains(input) || ComesLater(input)) {
        continue;
      }
      return InvalidArgumentError(
          StrCat("input ", Quote(input),
                 " is not an input, an initializer or an output of a node"));
    }
    return OkStatus();
  }

  Status Check(const Node& node, std::vector<std::string_view>* own) {
    ENCORE_RETURN_IF_ERROR(CheckReads(node));
    if (!functions_.contains(
            {DomainOf(node.domain), node.op_type, node.overload})) {
      const OpsetImports& opsets = OpsetsOf(node);
      ENCORE_ASSIGN_OR_RETURN(const Schema* schema, OperatorOf(node, opsets));
      ENCORE_RETURN_IF_ERROR(CheckImported(*schema, node, opsets));
      ENCORE_ASSIGN_OR_RETURN(const std::optional<Schema> newer,
                              WithInputsLeftOut(*schema, node));
      ENCORE_RETURN_IF_ERROR(
          CheckNode(newer ? *newer : *schema, node, function_));
    }
    for (const Attribute& attribute : node.attributes) {
      if (attribute.type != AttributeType::kGraph ||
          !attribute.ref_attr_name.empty()) {
        continue;
      }
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
          StrCat("output ", Quote(output), " is produced more than once"));
    }
    return OkStatus();
  }

  // Those that hold for the node.
  const OpsetImports& OpsetsOf(const Node& node) const {
    if (node.opsets != nullptr) return *node.opsets;
    return function_ != nullptr ? function_->opsets : model_.opsets;
  }

  StatusOr<const Schema*> OperatorOf(const Node& node,
                                     const OpsetImports& opsets) const {
    Node located;
    located.domain = node.domain;
    located.op_type = node.op_type;
    located.opsets = &opsets;
    return SchemaOf(model_, located);
  }

  // Warns, once for all nodes, of what ONNX Runtime writes, and takes, though
  // the model's opsets do not have it.
  Status CheckImported(const Schema& schema, const Node& node,
                       const OpsetImports& opsets) {
    const std::string_view domain = DomainOf(node.domain);
    const auto import = std::ranges::find(opsets, domain, &OpsetImport::domain);
    if (import == opsets.end()) {
      if (domain != kMicrosoft) return OkStatus();
      return warnings_.Add(InvalidArgumentError(
          StrCat("opset_import does not name the domain ", domain)));
    }
    if (import->version >= schema.since) return OkStatus();
    return warnings_.Add(InvalidArgumentError(
        StrCat(schema.op_type, " begins with opset ", schema.since,
               ", and the model is of opset ", import->version)));
  }

  // The schema with those inputs optional that the node leaves out and that the
  // newest version of the operator has optional; nothing where there are none.
  // Of these it is warned: some exporters write what ONNX Runtime takes.
  StatusOr<std::optional<Schema>> WithInputsLeftOut(const Schema& schema,
                                                    const Node& node) {
    using Option = Schema::Parameter::Option;
    std::optional<Schema> lenient;
    const size_t count = std::min(schema.inputs.size(), node.inputs.size());
    for (size_t i = 0; i < count; ++i) {
      const Schema::Parameter& input = schema.inputs[i];
      if (!node.inputs[i].empty() || input.option != Option::kSingle) continue;
      const StatusOr<const Schema*> newest =
          FindSchema(DomainOf(node.domain), node.op_type,
                     std::numeric_limits<int64_t>::max());
      if (!newest.ok()) continue;
      const auto same = std::ranges::find((*newest)->inputs, input.name,
                                          &Schema::Parameter::name);
      if (same == (*newest)->inputs.end() ||
          same->option != Option::kOptional) {
        continue;
      }
      ENCORE_RETURN_IF_ERROR(warnings_.Add(InvalidArgumentError(
          StrCat("input ", i, " (", input.name, ") of ", schema.op_type,
                 " is left out, which later opsets allow"))));
      if (!lenient) lenient = schema;
      lenient->inputs[i].option = Option::kOptional;
    }
    return lenient;
  }

  const Model& model_;
  const FunctionKeys& functions_;
  Warnings& warnings_;
  const Function* function_;
  // Those around a node, the innermost last.
  std::vector<const Graph*> graphs_;
  // Names that nodes may read here.
  NameSet visible_;
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
  if (domain == kMicrosoft) return 1;
  return domain.empty() && model.ir_version < 3 ? 1 : 0;
}

StatusOr<const Schema*> SchemaOf(const Model& model, const Node& node) {
  if (node.op_type.empty()) return InvalidArgumentError("op_type is missing");
  const std::string_view domain =
      IsDefaultDomain(node.domain) ? "" : node.domain;
  if (!IsKnownDomain(domain)) {
    return UnimplementedError(
        StrCat("the domain ", Quote(node.domain), " is not supported"));
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

Status CheckFunctions(const Model& model, Warnings& warnings) {
  FunctionKeys keys;
  for (const Function& function : model.functions) {
    const std::string_view domain = DomainOf(function.domain);
    if (!keys.emplace(domain, function.name, function.overload).second) {
      return InvalidArgumentError(StrCat("function ", Quote(function.name),
                                         " of the domain ", Quote(domain),
                                         " is defined twice"));
    }
  }
  for (const Function& function : model.functions) {
    Status checked = CheckImports(function.opsets, warnings);
    if (checked.ok()) {
      checked = GraphChecker(model, keys, warnings, &function).CheckFunction();
    }
    if (!checked.ok()) {
      return Annotate(checked, StrCat("function ", Quote(function.name)));
    }
  }
  return OkStatus();
}

Status CheckModel(const Model& model, Warnings& warnings) {
  if (!model.has_graph) {
    return InvalidArgumentError(
        "the model has no graph: this is not an ONNX model, or an empty one");
  }
  ENCORE_RETURN_IF_ERROR(CheckOpsets(model, warnings));
  if (model.has_training_info) {
    ENCORE_RETURN_IF_ERROR(warnings.Add(UnimplementedError(
        "training_info is ignored: what is imported is the inference graph")));
  }
  return GraphChecker(model, {}, warnings).Check(model.graph);
}

}  // namespace encore::onnx
