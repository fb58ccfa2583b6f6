#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "encore/ir/import/onnx/format/schema.h"
#include "encore/ir/support/strings.h"
#include "encore/tests/onnx/attribute_rules.h"
#include "encore/tests/onnx/base_models.h"
#include "encore/tests/onnx/mutations.h"
#include "encore/tests/onnx/sites.h"

namespace encore::tests {
namespace {

using ::onnx::AttributeProto;
using onnx::ElementType;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using onnx::Schema;
using onnx::TypeSet;

// Of the tensors in it, where it is a sequence or an optional.
void ClearShape(::onnx::TypeProto* type) {
  while (type->has_sequence_type() || type->has_optional_type()) {
    type = type->has_sequence_type()
               ? type->mutable_sequence_type()->mutable_elem_type()
               : type->mutable_optional_type()->mutable_elem_type();
  }
  if (type->has_tensor_type()) type->mutable_tensor_type()->clear_shape();
}

// "Gemm-13", "ai.onnx.ml.Scaler-1".
std::string VersionOf(const Site& site) {
  const std::string& domain = NodeAt(site).domain();
  return StrCat(domain, domain.empty() ? "" : ".", site.schema->op_type, "-",
                site.schema->since);
}

// The mutations of one site.
class NodeMutator {
 public:
  NodeMutator(const Site& site, const Sink& sink) : site_(site), sink_(sink) {
    Begin();
    base_ = model_.SerializeAsString();
  }

  void MutateAttribute(const Schema::AttributeRow& row);
  void MutateNode();
  void MutateInputs();
  void MutateOutputs();

 private:
  // Starts a mutation: the model with its node named.
  NodeProto* Begin() {
    model_ = site_.sample->model;
    graph_ = model_.mutable_graph();
    LeaveShapesOpen();
    for (const Site::Step& step : site_.path) {
      graph_ = SubgraphAt(graph_, step);
      LeaveShapesOpen();
    }
    NodeProto* node = graph_->mutable_node(site_.node);
    node->set_name(kNodeName);
    return node;
  }
  // A mutation may change shapes and yet be a good model.
  void LeaveShapesOpen() {
    for (auto& output : *graph_->mutable_output()) {
      if (output.has_type()) ClearShape(output.mutable_type());
    }
    graph_->clear_value_info();
  }
  void Emit(std::string_view what, std::string_view attribute,
            std::string_view rule) {
    const auto& outputs = graph_->node(site_.node).output();
    EmitOf(what, attribute, rule,
           Reached({outputs.begin(), outputs.end()}, /*of_input=*/false));
  }
  // `reached`: the nodes that the mutation may make wrong, this one apart.
  void EmitOf(std::string_view what, std::string_view attribute,
              std::string_view rule, std::vector<std::string> reached) {
    sink_({StrCat(VersionOf(site_), site_.path.empty() ? "" : "/inner", "/",
                  what),
           model_.SerializeAsString(),
           {kNodeName, std::string(attribute), "", ""},
           std::string(rule),
           base_,
           std::move(reached)});
  }
  // What messages call the nodes that `changed` of the node's graph reach, in
  // the graphs around it too.
  std::vector<std::string> Reached(std::set<std::string> changed,
                                   bool of_input) {
    std::vector<std::string> titles;
    GraphProto* graph = model_.mutable_graph();
    for (const Site::Step& step : site_.path) {
      const NodeProto& around = graph->node(step.node);
      if (of_input) titles.push_back(TitleOf(around));
      const auto& outputs = around.output();
      std::ranges::copy(NodesReached(*graph, {outputs.begin(), outputs.end()}),
                        std::back_inserter(titles));
      graph = SubgraphAt(graph, step);
    }
    std::ranges::copy(NodesReached(*graph, std::move(changed)),
                      std::back_inserter(titles));
    return titles;
  }
  // A mutation of the graph input that the node reads. A subgraph's input is
  // what the node around gives: that may be at fault.
  void EmitInput(int i, std::string_view what, std::string_view rule = "") {
    EmitOf(StrCat("input ", i, "/", what), "", rule,
           Reached({graph_->node(site_.node).input(i)}, /*of_input=*/true));
  }
  AttributeProto* Attribute(NodeProto* node, const Schema::AttributeRow& row);
  void OutOfRange(const Schema::AttributeRow& row);
  std::string_view LengthRule(const Schema::AttributeRow& row);
  void OtherEntries(const Schema::AttributeRow& row);
  void WrongTypes(int input, const Schema::Parameter& parameter);
  void WrongShapes(int input);
  // The graph input that input i of the node is; null where it is none.
  ::onnx::TypeProto_Tensor* InputType(int i);

  const Site& site_;
  const Sink& sink_;
  std::string base_;
  ModelProto model_;
  GraphProto* graph_ = nullptr;  // the node's
};

// The node's attribute, added where it has none.
AttributeProto* NodeMutator::Attribute(NodeProto* node,
                                       const Schema::AttributeRow& row) {
  for (AttributeProto& attribute : *node->mutable_attribute()) {
    if (attribute.name() == row.name) return &attribute;
  }
  AttributeProto* attribute = node->add_attribute();
  attribute->set_name(std::string(row.name));
  attribute->set_type(
      static_cast<::onnx::AttributeProto_AttributeType>(row.type));
  return attribute;
}

void SetInt(AttributeProto* attribute, int64_t value) {
  const std::string name = attribute->name();
  attribute->Clear();
  attribute->set_name(name);
  attribute->set_type(AttributeProto::INT);
  attribute->set_i(value);
}

void SetString(AttributeProto* attribute, const std::string& value) {
  const std::string name = attribute->name();
  attribute->Clear();
  attribute->set_name(name);
  attribute->set_type(AttributeProto::STRING);
  attribute->set_s(value);
}

void SetInts(AttributeProto* attribute, const std::vector<int64_t>& values) {
  const std::string name = attribute->name();
  attribute->Clear();
  attribute->set_name(name);
  attribute->set_type(AttributeProto::INTS);
  for (const int64_t value : values) attribute->add_ints(value);
}

// Why one entry more or less in the node's list is wrong; "" where it may be
// right: a list that is not given, or is all that the node has, has no partner.
std::string_view NodeMutator::LengthRule(const Schema::AttributeRow& row) {
  return HasPartner(site_.schema->op_type, row.name)
             ? "the lists are of one length"
             : "";
}

// Lists of numbers and of texts.
void NodeMutator::OtherEntries(const Schema::AttributeRow& row) {
  const std::string name(row.name);
  const auto emit = [&](std::string_view what, std::string_view rule,
                        const auto& change) {
    AttributeProto* attribute = Attribute(Begin(), row);
    if (attribute->floats_size() + attribute->strings_size() == 0) return;
    change(attribute);
    Emit(StrCat(name, "/", what), name, rule);
  };
  emit("longer", LengthRule(row), [](AttributeProto* list) {
    if (list->floats_size() > 0) list->add_floats(1);
    if (list->strings_size() > 0) list->add_strings(list->strings(0));
  });
  emit("shorter", LengthRule(row), [](AttributeProto* list) {
    if (list->floats_size() > 0) list->mutable_floats()->RemoveLast();
    if (list->strings_size() > 0) list->mutable_strings()->RemoveLast();
  });
  emit("empty", "", [](AttributeProto* list) {
    list->clear_floats();
    list->clear_strings();
  });
  const bool word = row.type == onnx::AttributeType::kStrings &&
                    IsWord(site_.schema->op_type, row.name);
  emit("NaN or unknown word", word ? "the standard lists the words" : "",
       [](AttributeProto* list) {
         if (list->floats_size() > 0) {
           list->set_floats(0, std::numeric_limits<float>::quiet_NaN());
         }
         if (list->strings_size() > 0) list->set_strings(0, "frobnicate");
       });
}

void NodeMutator::OutOfRange(const Schema::AttributeRow& row) {
  using Type = onnx::AttributeType;
  const std::string name(row.name);
  const auto least = LeastValue(site_.schema->op_type, row.name);
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  if (row.type == Type::kString) {
    SetString(Attribute(Begin(), row), "frobnicate");
    Emit(StrCat(name, "/unknown word"), name,
         IsWord(site_.schema->op_type, row.name)
             ? "the standard lists the words"
             : "");
    return;
  }
  if (row.type == Type::kInt) {
    for (const int64_t value :
         {kMin, int64_t{-1000}, int64_t{-1}, int64_t{0}, int64_t{1000}, kMax}) {
      SetInt(Attribute(Begin(), row), value);
      Emit(StrCat(name, "/", value), name,
           least && value < *least ? "the standard sets a least value" : "");
    }
    return;
  }
  if (row.type != Type::kInts) return OtherEntries(row);
  const AttributeProto* given = Attribute(Begin(), row);
  const std::vector<int64_t> values(given->ints().begin(), given->ints().end());
  if (values.empty()) return;
  for (const int64_t value :
       {kMin, int64_t{-1000}, int64_t{-1}, int64_t{0}, int64_t{1000}, kMax}) {
    std::vector<int64_t> changed = values;
    changed.back() = value;
    SetInts(Attribute(Begin(), row), changed);
    Emit(StrCat(name, "/entry ", value), name,
         least && value < *least ? "the standard sets a least value" : "");
  }
  std::vector<int64_t> longer = values;
  longer.push_back(values.back());
  SetInts(Attribute(Begin(), row), longer);
  Emit(StrCat(name, "/longer"), name, LengthRule(row));
  SetInts(Attribute(Begin(), row), {values.begin(), values.end() - 1});
  Emit(StrCat(name, "/shorter"), name, LengthRule(row));
}

void NodeMutator::MutateAttribute(const Schema::AttributeRow& row) {
  const std::string name(row.name);
  NodeProto* node = Begin();
  if (row.required) {
    for (int i = node->attribute_size(); i-- > 0;) {
      if (node->attribute(i).name() == row.name) {
        node->mutable_attribute()->DeleteSubrange(i, 1);
      }
    }
    Emit(StrCat(name, "/dropped"), name, "the attribute is required");
  }
  AttributeProto* attribute = Attribute(Begin(), row);
  if (row.type == onnx::AttributeType::kInt) {
    SetString(attribute, "1");
  } else {
    SetInt(attribute, 1);
  }
  Emit(StrCat(name, "/retyped"), name, "the attribute has another type");
  attribute = Attribute(Begin(), row);
  attribute->set_type(row.type == onnx::AttributeType::kFloat
                          ? AttributeProto::INTS
                          : AttributeProto::FLOAT);
  Emit(StrCat(name, "/type field"), name, "the attribute has another type");
  attribute = Attribute(Begin(), row);
  AttributeProto copy = *attribute;
  *graph_->mutable_node(site_.node)->add_attribute() = copy;
  Emit(StrCat(name, "/twice"), name, "attributes have distinct names");
  OutOfRange(row);
}

void NodeMutator::MutateNode() {
  NodeProto* node = Begin();
  AttributeProto* attribute = node->add_attribute();
  attribute->set_name("frobnicate");
  SetInt(attribute, 1);
  Emit("unknown attribute", "frobnicate", "the operator has no such attribute");
  Begin()->set_op_type("Frobnicate");
  Emit("unknown operator", "", "the standard has no such operator");
  Begin()->set_op_type("");
  Emit("no operator", "", "op_type is required");
  Begin()->set_domain("frobnicate");
  Emit("unknown domain", "", "nobody defines the domain");
  Begin();
  if (site_.schema->since > 1) {
    for (auto& import : *model_.mutable_opset_import()) import.set_version(1);
    EmitOf("older opset", "", "", TitlesOf(model_.graph()));
  }
}

::onnx::TypeProto_Tensor* NodeMutator::InputType(int i) {
  for (auto& input : *graph_->mutable_input()) {
    if (input.name() == graph_->node(site_.node).input(i) &&
        input.type().has_tensor_type()) {
      return input.mutable_type()->mutable_tensor_type();
    }
  }
  return nullptr;
}

void NodeMutator::WrongTypes(int input, const Schema::Parameter& parameter) {
  // Some of each: types that all opsets have, those that later ones brought,
  // and complex numbers, which Encore has not.
  constexpr int kEach = 3;
  std::map<int, int> taken;
  for (int type = 1; type <= static_cast<int>(onnx::kLastElementType); ++type) {
    const auto element = static_cast<ElementType>(type);
    const bool complex = element == ElementType::kComplex64 ||
                         element == ElementType::kComplex128;
    const bool allowed = parameter.types.Contains(TypeSet::kTensor, element);
    const int group = complex ? 2 : element >= ElementType::kFloat8E4M3FN;
    if ((allowed && !complex) || taken[group]++ >= kEach) continue;
    Begin();
    auto* tensor = InputType(input);
    if (tensor == nullptr) return;
    tensor->set_elem_type(type);
    // Where it is an initializer, too, the two disagree, which is no fault of
    // the node's.
    const std::string& name = graph_->node(site_.node).input(input);
    const auto& data = graph_->initializer();
    const bool by_rule =
        site_.path.empty() && graph_->node_size() == 1 &&
        std::none_of(data.begin(), data.end(),
                     [&](const auto& tensor) { return tensor.name() == name; });
    EmitInput(input, StrCat("of ", onnx::ElementName(element)),
              by_rule ? "the operator does not take the type" : "");
  }
}

void NodeMutator::WrongShapes(int input) {
  Begin();
  auto* tensor = InputType(input);
  if (tensor == nullptr || !tensor->has_shape()) return;
  const int rank = tensor->shape().dim_size();
  for (int i = 0; i < rank; ++i) {
    for (const int64_t extent : {0, 97}) {
      Begin();
      InputType(input)->mutable_shape()->mutable_dim(i)->set_dim_value(extent);
      EmitInput(input, StrCat("dim ", i, " is ", extent));
    }
  }
  for (const int other : {0, rank - 1, rank + 1}) {
    if (other == rank || other < 0) continue;
    Begin();
    auto* shape = InputType(input)->mutable_shape();
    while (shape->dim_size() > other) shape->mutable_dim()->RemoveLast();
    while (shape->dim_size() < other) shape->add_dim()->set_dim_value(1);
    EmitInput(input, StrCat("rank ", other));
  }
}

void NodeMutator::MutateInputs() {
  using Option = Schema::Parameter::Option;
  const auto& parameters = site_.schema->inputs;
  const bool variadic =
      !parameters.empty() && parameters.back().option == Option::kVariadic;
  if (!variadic) {
    NodeProto* node = Begin();
    const std::string any =
        node->input_size() > 0 ? node->input(0) : node->output(0);
    while (node->input_size() <= static_cast<int>(parameters.size())) {
      node->add_input(any);
    }
    Emit("too many inputs", "", "the operator takes fewer inputs");
  }
  const int count = Begin()->input_size();
  for (int i = 0; i < count; ++i) {
    const auto& parameter = parameters[std::min<size_t>(static_cast<size_t>(i),
                                                        parameters.size() - 1)];
    if (Begin()->input(i).empty()) continue;
    Begin()->set_input(i, "nobody_makes_this");
    Emit(StrCat("input ", i, "/of nobody"), "",
         "values are made before they are read");
    if (parameter.option == Option::kSingle) {
      NodeProto* node = Begin();
      while (node->input_size() > i) node->mutable_input()->RemoveLast();
      Emit(StrCat("input ", i, "/dropped"), "", "the input is required");
      Begin()->set_input(i, "");
      Emit(StrCat("input ", i, "/left out"), "", "the input is required");
    }
    WrongTypes(i, parameter);
    WrongShapes(i);
  }
}

void NodeMutator::MutateOutputs() {
  using Option = Schema::Parameter::Option;
  const auto& parameters = site_.schema->outputs;
  NodeProto* node = Begin();
  const bool variadic =
      !parameters.empty() && parameters.back().option == Option::kVariadic;
  if (!variadic) {
    while (node->output_size() <= static_cast<int>(parameters.size())) {
      node->add_output(StrCat("more_", node->output_size()));
    }
    Emit("too many outputs", "", "the operator has fewer outputs");
  }
  Begin()->mutable_output()->Clear();
  Emit("no outputs", "", "");
  node = Begin();
  node->add_output(node->output(0));
  Emit("output twice", "", "");
}

// The first site whose node has the attribute, else the first.
const Site& SiteWith(const std::vector<Site>& sites, std::string_view name) {
  for (const Site& site : sites) {
    for (const auto& attribute : NodeAt(site).attribute()) {
      if (attribute.name() == name) return site;
    }
  }
  return sites.front();
}

}  // namespace

void MutateNodes(const std::vector<Sample>& corpus, const Sink& sink) {
  // By name, not by address.
  std::map<std::pair<std::string, bool>, const std::vector<Site>*> ordered;
  const Sites sites = FindSites(corpus);
  for (const auto& [key, found] : sites) {
    ordered[{VersionOf(found.front()), key.second}] = &found;
  }
  for (const auto& [version, found] : ordered) {
    NodeMutator mutator(found->front(), sink);
    mutator.MutateNode();
    mutator.MutateInputs();
    mutator.MutateOutputs();
    for (const auto& row : found->front().schema->attributes) {
      NodeMutator(SiteWith(*found, row.name), sink).MutateAttribute(row);
    }
  }
}

}  // namespace encore::tests
