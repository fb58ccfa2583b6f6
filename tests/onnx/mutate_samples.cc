#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/support/strings.h"
#include "encore/tests/onnx/base_models.h"
#include "encore/tests/onnx/mutations.h"
#include "encore/tests/onnx/sites.h"

namespace encore::tests {
namespace {

using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

// No byte sequence of UTF-8.
constexpr char kNoText[] = "\xff\xfe";

// "Gemm", "ai.onnx.ml.Scaler".
std::string OperatorOf(const NodeProto& node) {
  return StrCat(node.domain(), node.domain().empty() ? "" : ".",
                node.op_type());
}

// The mutations of one sample, whose first node is the mutated one.
class SampleMutator {
 public:
  SampleMutator(const Sample& sample, const Sink& sink)
      : sample_(sample),
        title_(OperatorOf(sample.model.graph().node(0))),
        sink_(sink) {
    Begin();
    base_ = model_.SerializeAsString();
  }

  void MutateNames();
  void MutateText();
  void MutateUnnamed();
  void MutateInputs();
  void MutateVersions();
  void MutateBytes();

 private:
  GraphProto* Begin() {
    model_ = sample_.model;
    model_.mutable_graph()->mutable_node(0)->set_name(kNodeName);
    return model_.mutable_graph();
  }
  NodeProto* Node() { return Begin()->mutable_node(0); }
  // The graph input i as a tensor with a shape; null where it is none.
  ::onnx::TypeProto_Tensor* InputType(int i);
  void Emit(std::string_view what, std::string_view rule, Fault fault,
            std::vector<std::string> reached = {}) {
    sink_({StrCat("sample/", title_, "/", what), model_.SerializeAsString(),
           std::move(fault), std::string(rule), base_, std::move(reached)});
  }
  // A mutation of graph input i.
  void EmitInput(int i, std::string_view what, std::string_view rule) {
    const std::string name = model_.graph().input(i).name();
    Emit(StrCat("input ", i, "/", what), rule, {.value = name},
         NodesReached(model_.graph(), {name}));
  }
  void EmitBytes(std::string_view what, std::string bytes) {
    ModelProto parsed;
    if (parsed.ParseFromString(bytes)) return;
    sink_({StrCat("sample/", title_, "/", what),
           std::move(bytes),
           {},
           "protobuf cannot parse it",
           base_});
  }

  const Sample& sample_;
  const std::string title_;
  const Sink& sink_;
  std::string base_;
  ModelProto model_;
};

void SampleMutator::MutateNames() {
  GraphProto* graph = Begin();
  *graph->add_node() = graph->node(0);
  Emit("node twice", "names are given once", {.node = kNodeName});
  graph = Begin();
  if (graph->input_size() > 0) {
    *graph->add_input() = graph->input(0);
    Emit("input twice", "names are given once",
         {.value = graph->input(0).name()});
    graph = Begin();
    graph->mutable_node(0)->set_output(0, graph->input(0).name());
    Emit("output named as an input", "names are given once",
         {.node = kNodeName});
    Begin()->mutable_input(0)->clear_name();
    Emit("input without a name", "names are not empty", {.field = "input #0"});
  }
  graph = Begin();
  *graph->add_output() = graph->output(0);
  Emit("output twice", "names are given once",
       {.value = graph->output(0).name()});
  Begin()->clear_output();
  Emit("no outputs", "a graph has outputs", {.field = "outputs"});
  Begin()->mutable_output(0)->set_name("nobody_makes_this");
  Emit("output of nobody", "outputs are made by nodes",
       {.value = "nobody_makes_this"});
  for (int i = 0; i < Node()->input_size(); ++i) {
    if (Node()->input(i).empty()) continue;
    NodeProto* node = Node();
    node->set_input(i, node->output(0));
    Emit(StrCat("input ", i, " reads the output"), "graphs are acyclic",
         {.node = kNodeName});
  }
}

void SampleMutator::MutateText() {
  const std::string_view rule = "strings are UTF-8";
  Node()->set_name(std::string(kNodeName) + kNoText);
  Emit("text/node", rule, {.node = kNodeName});
  Node()->set_op_type(kNoText);
  Emit("text/op_type", rule, {.node = kNodeName});
  Node()->set_domain(kNoText);
  Emit("text/domain", rule, {.node = kNodeName});
  Node()->set_output(0, kNoText);
  Emit("text/output", rule, {.node = kNodeName});
  Node()->add_input(kNoText);
  Emit("text/input", rule, {.node = kNodeName});
  Node()->add_attribute()->set_name(kNoText);
  Emit("text/attribute", rule, {.node = kNodeName});
  Begin()->set_name(kNoText);
  Emit("text/graph", rule, {.field = "graph"});
  Begin()->mutable_output(0)->set_name(kNoText);
  Emit("text/graph output", rule, {.field = StrCat("output ", Quote(kNoText))});
  Begin();
  model_.mutable_opset_import(0)->set_domain(kNoText);
  Emit("text/opset", rule, {.field = "opset_import"});
}

// The node without a name: messages then have another title for it.
void SampleMutator::MutateUnnamed() {
  const auto unnamed = [&] {
    NodeProto* node = Node();
    node->clear_name();
    node->set_op_type("Frobnicate");
    return node;
  };
  const std::string_view rule = "the standard has no such operator";
  const std::string output = unnamed()->output(0);
  if (!output.empty()) {
    Emit("unnamed/with outputs", rule,
         {.node = StrCat("node ", Quote(output), " (Frobnicate)")});
  }
  unnamed()->clear_output();
  Emit("unnamed/without outputs", rule, {.node = "node #0 (Frobnicate)"});
  unnamed()->set_op_type(kNoText);
  Emit("unnamed/text", "strings are UTF-8", {.node = "node #0"});
}

::onnx::TypeProto_Tensor* SampleMutator::InputType(int i) {
  auto* type = Begin()->mutable_input(i)->mutable_type();
  if (!type->has_tensor_type() || !type->tensor_type().has_shape()) {
    return nullptr;
  }
  return type->mutable_tensor_type();
}

void SampleMutator::MutateInputs() {
  for (int i = 0; i < Begin()->input_size(); ++i) {
    Begin()->mutable_input(i)->clear_type();
    EmitInput(i, "no type", "inputs have types");
    if (InputType(i) == nullptr) continue;
    for (const int type : {0, 99, -1}) {
      InputType(i)->set_elem_type(type);
      EmitInput(i, StrCat("type ", type), "there is no such type");
    }
    for (const int type : {TensorProto::COMPLEX64, TensorProto::COMPLEX128}) {
      InputType(i)->set_elem_type(type);
      EmitInput(i, StrCat("type ", type), "Encore has no complex numbers");
    }
    if (InputType(i)->shape().dim_size() == 0) continue;
    for (const int64_t dim : {int64_t{-2}, std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()}) {
      InputType(i)->mutable_shape()->mutable_dim(0)->set_dim_value(dim);
      EmitInput(i, StrCat("dim ", dim), dim < 0 ? "dims are not negative" : "");
    }
    auto* shape = InputType(i)->mutable_shape();
    while (shape->dim_size() < 4) shape->add_dim();
    for (auto& dim : *shape->mutable_dim()) dim.set_dim_value(int64_t{1} << 40);
    EmitInput(i, "2^160 elements", "elements can be counted");
    shape = InputType(i)->mutable_shape();
    while (shape->dim_size() < 1000) shape->add_dim()->set_dim_value(1);
    EmitInput(i, "rank 1000", "");
  }
}

void SampleMutator::MutateVersions() {
  for (const int64_t version :
       {int64_t{0}, int64_t{-1}, int64_t{1000}, int64_t{1} << 40,
        std::numeric_limits<int64_t>::min(),
        std::numeric_limits<int64_t>::max()}) {
    const std::string domain = Node()->domain();
    for (auto& import : *model_.mutable_opset_import()) {
      if (import.domain() == domain) import.set_version(version);
    }
    Emit(StrCat("opset ", version), "there is no such opset",
         {.field = StrCat("opset ", version)});
    Begin();
    model_.set_ir_version(version);
    Emit(StrCat("ir_version ", version), "there is no such format",
         {.field = StrCat("ir_version ", version)});
  }
  Begin();
  model_.clear_opset_import();
  Emit("no opset_import", "a model imports opsets", {.field = "opset_import"});
  Begin();
  *model_.add_opset_import() = model_.opset_import(0);
  model_.mutable_opset_import(0)->set_version(model_.opset_import(0).version() +
                                              1);
  Emit("opset imported twice", "a domain is imported at one version",
       {.field = "opset_import"});
}

void SampleMutator::MutateBytes() {
  constexpr int kCuts = 20, kChanges = 20;
  for (int i = 0; i < kCuts; ++i) {
    const size_t size = base_.size() * i / kCuts;
    EmitBytes(StrCat("cut to ", size), base_.substr(0, size));
  }
  std::mt19937 random(static_cast<unsigned>(base_.size()));
  for (int i = 0; i < kChanges; ++i) {
    std::string bytes = base_;
    const size_t at = random() % bytes.size();
    bytes[at] = static_cast<char>(random());
    EmitBytes(StrCat("another byte at ", at), std::move(bytes));
  }
}

}  // namespace

void MutateSamples(const std::vector<Sample>& corpus, const Sink& sink) {
  std::map<std::string, const Sample*> samples;
  for (const Sample& sample : corpus) {
    const GraphProto& graph = sample.model.graph();
    if (graph.node_size() == 0 || graph.node(0).output_size() == 0 ||
        graph.output_size() == 0) {
      continue;
    }
    const Sample*& smallest = samples[OperatorOf(graph.node(0))];
    if (smallest == nullptr ||
        sample.model.ByteSizeLong() < smallest->model.ByteSizeLong()) {
      smallest = &sample;
    }
  }
  for (const auto& [op, sample] : samples) {
    SampleMutator mutator(*sample, sink);
    mutator.MutateNames();
    mutator.MutateText();
    mutator.MutateUnnamed();
    mutator.MutateInputs();
    mutator.MutateVersions();
    mutator.MutateBytes();
  }
}

}  // namespace encore::tests
