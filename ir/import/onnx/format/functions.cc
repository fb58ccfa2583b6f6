#include "encore/ir/import/onnx/format/functions.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/format/node_order.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// Domain, name and overload.
using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
using Functions = std::map<Key, const Function*>;

std::string_view Normal(std::string_view domain) {
  return domain == "ai.onnx" ? "" : domain;
}

const Function* Called(const Functions& functions, const Node& node) {
  const auto found =
      functions.find(Key(Normal(node.domain), node.op_type, node.overload));
  return found == functions.end() ? nullptr : found->second;
}

std::string Title(const Function& function) {
  return StrCat("function ", Quote(function.name), " of the domain ",
                Quote(function.domain));
}

// What a copy takes in memory, about.
struct Cost {
  size_t bytes = 0;
  // Names that begin with the call's.
  size_t names = 0;
};

void AddName(std::string_view name, Cost* cost) {
  cost->bytes += 2 * sizeof(std::string) + name.size();
  ++cost->names;
}

// Graphs nest at most kMaxGraphDepth deep.
void AddCost(std::span<const Node> nodes, Cost* cost);

void AddCost(const Graph& graph, Cost* cost) {
  cost->bytes += sizeof(Graph);
  for (const auto* values : {&graph.inputs, &graph.outputs}) {
    cost->bytes += values->size() * sizeof(ValueInfo);
    for (const ValueInfo& value : *values) AddName(value.name, cost);
  }
  for (const Tensor& tensor : graph.initializers) {
    AddName(tensor.name, cost);
    cost->bytes += sizeof(Tensor) + tensor.dims.size() * sizeof(int64_t) +
                   tensor.float_data.size() * sizeof(float) +
                   tensor.int32_data.size() * sizeof(int32_t) +
                   tensor.int64_data.size() * sizeof(int64_t) +
                   tensor.double_data.size() * sizeof(double) +
                   tensor.uint64_data.size() * sizeof(uint64_t) +
                   tensor.string_data.size() * sizeof(std::string_view);
  }
  AddCost(graph.nodes, cost);
}

void AddCost(std::span<const Node> nodes, Cost* cost) {
  for (const Node& node : nodes) {
    cost->bytes += sizeof(Node);
    AddName(node.name, cost);
    for (const std::string_view name : node.inputs) AddName(name, cost);
    for (const std::string_view name : node.outputs) AddName(name, cost);
    for (const Attribute& attribute : node.attributes) {
      cost->bytes += sizeof(Attribute) +
                     attribute.floats.size() * sizeof(float) +
                     attribute.ints.size() * sizeof(int64_t) +
                     attribute.strings.size() * sizeof(std::string_view);
      if (attribute.g != nullptr) AddCost(*attribute.g, cost);
    }
  }
}

// One call: what names and attributes in the function stand for.
class Call {
 public:
  // All outlive the call; `number` tells it from others.
  Call(const Function& function, const Node& node, size_t number,
       FunctionNames* names)
      : Call(function, node, number, names, &function.opsets) {}
  // `opsets`: those of the copies.
  Call(const Function& function, const Node& node, size_t number,
       FunctionNames* names, const OpsetImports* opsets)
      : function_(function),
        node_(node),
        number_(number),
        names_(names),
        opsets_(opsets) {}

  // The function's nodes as the caller has them.
  StatusOr<std::vector<Node>> Nodes() {
    ENCORE_RETURN_IF_ERROR(BindValues());
    ENCORE_RETURN_IF_ERROR(BindAttributes());
    std::vector<Node> nodes;
    for (const Node& node : function_.nodes) nodes.push_back(Copy(node));
    nodes.insert(nodes.end(), passed_.begin(), passed_.end());
    return nodes;
  }

 private:
  std::string_view Keep(std::string name) {
    return names_->emplace_back(std::move(name));
  }

  Status BindValues() {
    if (node_.inputs.size() > function_.inputs.size() ||
        node_.outputs.size() > function_.outputs.size()) {
      return InvalidArgumentError(
          StrCat(node_.inputs.size(), " inputs and ", node_.outputs.size(),
                 " outputs, ", Title(function_), " has ",
                 function_.inputs.size(), " and ", function_.outputs.size()));
    }
    for (size_t i = 0; i < function_.inputs.size(); ++i) {
      const bool given = i < node_.inputs.size();
      const auto input = given ? node_.inputs[i] : std::string_view();
      if (values_.emplace(function_.inputs[i], input).second) continue;
      return InvalidArgumentError(StrCat(Title(function_), " has two inputs ",
                                         Quote(function_.inputs[i])));
    }
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      const std::string_view name = function_.outputs[i];
      const std::string_view output = node_.outputs[i];
      if (output.empty()) continue;
      const auto [found, inserted] = values_.emplace(name, output);
      if (inserted) continue;
      // An input, or an output twice, is passed on.
      Node& node = passed_.emplace_back();
      node.name = node_.name;
      node.op_type = "Identity";
      node.inputs = {found->second};
      node.outputs = {output};
    }
    return OkStatus();
  }

  Status BindAttributes() {
    for (const Attribute& attribute : function_.attribute_defaults) {
      attributes_.insert_or_assign(attribute.name, &attribute);
    }
    std::set<std::string_view> given;
    for (const Attribute& attribute : node_.attributes) {
      if (!given.insert(attribute.name).second) {
        return InvalidArgumentError(
            StrCat("attribute ", attribute.name, " is given twice"));
      }
      const auto& known = function_.attributes;
      if (!attributes_.contains(attribute.name) &&
          std::find(known.begin(), known.end(), attribute.name) ==
              known.end()) {
        return InvalidArgumentError(StrCat("attribute ", attribute.name,
                                           " is not one of the ",
                                           Title(function_)));
      }
      attributes_.insert_or_assign(attribute.name, &attribute);
    }
    return OkStatus();
  }

  std::string_view Value(std::string_view name) {
    if (name.empty()) return name;
    const auto [found, inserted] = values_.emplace(name, name);
    if (inserted) {
      found->second = Keep(StrCat(node_.name, "#", number_, "/", name));
    }
    return found->second;
  }

  Node Copy(const Node& node) {
    Node copy = node;
    copy.name =
        Keep(StrCat(node_.name, "/",
                    node.name.empty() && !node.outputs.empty() ? node.outputs[0]
                                                               : node.name));
    copy.opsets = opsets_;
    for (std::string_view& name : copy.inputs) name = Value(name);
    for (std::string_view& name : copy.outputs) name = Value(name);
    copy.attributes.clear();
    for (const Attribute& attribute : node.attributes) {
      if (std::optional<Attribute> kept = Copy(attribute)) {
        copy.attributes.push_back(*std::move(kept));
      }
    }
    return copy;
  }

  // Nothing for what the caller leaves out.
  std::optional<Attribute> Copy(const Attribute& attribute) {
    if (!attribute.ref_attr_name.empty()) {
      const auto found = attributes_.find(attribute.ref_attr_name);
      if (found == attributes_.end()) return std::nullopt;
      Attribute copy = *found->second;
      copy.name = attribute.name;
      return copy;
    }
    Attribute copy = attribute;
    if (copy.g != nullptr) {
      copy.g = std::make_shared<const Graph>(Copy(*copy.g));
    }
    return copy;
  }

  // Graphs nest at most kMaxGraphDepth deep.
  Graph Copy(const Graph& graph) {
    Graph copy = graph;
    copy.value_infos.clear();
    for (ValueInfo& input : copy.inputs) input.name = Value(input.name);
    for (Tensor& tensor : copy.initializers) tensor.name = Value(tensor.name);
    for (ValueInfo& output : copy.outputs) output.name = Value(output.name);
    for (Node& node : copy.nodes) node = Copy(node);
    return copy;
  }

  const Function& function_;
  const Node& node_;
  size_t number_;
  FunctionNames* names_;
  const OpsetImports* opsets_;
  std::map<std::string_view, std::string_view> values_;
  std::map<std::string_view, const Attribute*> attributes_;
  std::vector<Node> passed_;
};

class Inliner {
 public:
  Inliner(const Functions& functions, const OpsetImports& opsets,
          FunctionNames* names)
      : functions_(functions), opsets_(opsets), names_(names) {}

  // `depth` counts graphs.
  Status Expand(int depth, std::vector<Node>* nodes) {
    if (depth > kMaxGraphDepth) {
      return InvalidArgumentError(
          StrCat("subgraphs nest deeper than ", kMaxGraphDepth));
    }
    std::vector<Node> expanded, pending;
    for (Node& outer : *nodes) {
      pending.push_back(std::move(outer));
      while (!pending.empty()) {
        Node node = std::move(pending.back());
        pending.pop_back();
        Status status = OkStatus();
        if (const Function* function = Called(functions_, node)) {
          status = Replace(*function, node, &pending);
        } else {
          status = ExpandSubgraphs(depth, &node);
          if (status.ok()) expanded.push_back(std::move(node));
        }
        if (!status.ok()) return Annotate(status, NodeTitle(node));
      }
    }
    *nodes = std::move(expanded);
    return OkStatus();
  }

 private:
  // The next node last.
  Status Replace(const Function& function, const Node& node,
                 std::vector<Node>* pending) {
    const OpsetImports& opsets = node.opsets ? *node.opsets : opsets_;
    if (std::ranges::count(opsets, Normal(function.domain),
                           &OpsetImport::domain) == 0) {
      return InvalidArgumentError(StrCat(
          "opset_import does not name the domain ", Quote(function.domain)));
    }
    const auto [cost, added] = costs_.emplace(&function, Cost());
    if (added) AddCost(function.nodes, &cost->second);
    bytes_ += cost->second.bytes + node.name.size() * cost->second.names;
    if (bytes_ > kMaxInlinedBytes) {
      return UnimplementedError(
          StrCat("the nodes of all calls of functions take more than ",
                 kMaxInlinedBytes >> 20, " MiB"));
    }
    Call call(function, node, calls_++, names_);
    ENCORE_ASSIGN_OR_RETURN(std::vector<Node> nodes, call.Nodes());
    pending->insert(pending->end(), std::make_move_iterator(nodes.rbegin()),
                    std::make_move_iterator(nodes.rend()));
    return OkStatus();
  }

  Status ExpandSubgraphs(int depth, Node* node) {
    for (Attribute& attribute : node->attributes) {
      if (attribute.g == nullptr) continue;
      auto graph = std::make_shared<Graph>(*attribute.g);
      ENCORE_RETURN_IF_ERROR(Expand(depth + 1, &graph->nodes));
      attribute.g = std::move(graph);
    }
    return OkStatus();
  }

  const Functions& functions_;
  const OpsetImports& opsets_;
  FunctionNames* names_;
  std::map<const Function*, Cost> costs_;
  size_t bytes_ = 0;
  size_t calls_ = 0;
};

// The functions that `function` calls, in subgraphs too; as often as it does.
std::vector<const Function*> CallsOf(const Functions& functions,
                                     const Function& function) {
  std::vector<const Function*> calls;
  std::vector<const std::vector<Node>*> lists = {&function.nodes};
  while (!lists.empty()) {
    const std::vector<Node>& nodes = *lists.back();
    lists.pop_back();
    for (const Node& node : nodes) {
      if (const Function* called = Called(functions, node)) {
        calls.push_back(called);
      }
      for (const Attribute& attribute : node.attributes) {
        if (attribute.g != nullptr) lists.push_back(&attribute.g->nodes);
      }
    }
  }
  return calls;
}

// Kahn's algorithm over calls.
Status CheckAcyclic(const Functions& functions) {
  std::map<const Function*, std::vector<const Function*>> calls;
  std::map<const Function*, size_t> callers;
  std::vector<const Function*> ready;
  for (const auto& [key, function] : functions) {
    calls[function] = CallsOf(functions, *function);
    for (const Function* called : calls[function]) ++callers[called];
  }
  for (const auto& [key, function] : functions) {
    if (!callers.contains(function)) ready.push_back(function);
  }
  size_t left = functions.size();
  while (!ready.empty()) {
    const Function* function = ready.back();
    ready.pop_back();
    --left;
    for (const Function* called : calls[function]) {
      if (--callers[called] == 0) ready.push_back(called);
    }
  }
  if (left == 0) return OkStatus();
  for (const auto& [key, function] : functions) {
    if (callers[function] == 0) continue;
    return InvalidArgumentError(
        StrCat(Title(*function),
               " is called by itself or by a function that "
               "is"));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<Node>> BranchInPlace(const Graph& branch, const Node& node,
                                          FunctionNames* names) {
  Function function;
  for (const std::string_view name : CapturesOf(branch)) {
    function.inputs.push_back(name);
  }
  for (const ValueInfo& output : branch.outputs) {
    function.outputs.push_back(output.name);
  }
  for (const Tensor& tensor : branch.initializers) {
    Node& constant = function.nodes.emplace_back();
    constant.op_type = "Constant";
    constant.outputs = {tensor.name};
    Attribute& value = constant.attributes.emplace_back();
    value.name = "value";
    value.type = AttributeType::kTensor;
    value.t = std::make_shared<const Tensor>(tensor);
  }
  function.nodes.insert(function.nodes.end(), branch.nodes.begin(),
                        branch.nodes.end());
  Node call = node;
  call.inputs = function.inputs;
  call.attributes.clear();
  return Call(function, call, names->size(), names, node.opsets).Nodes();
}

Status InlineFunctions(Model* model, FunctionNames* names) {
  if (model->functions.empty()) return OkStatus();
  Functions functions;
  for (const Function& function : model->functions) {
    const Key key(Normal(function.domain), function.name, function.overload);
    functions.emplace(key, &function);
  }
  ENCORE_RETURN_IF_ERROR(CheckAcyclic(functions));
  return Inliner(functions, model->opsets, names)
      .Expand(0, &model->graph.nodes);
}

}  // namespace encore::onnx
