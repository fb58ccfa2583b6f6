#include <filesystem>
#include <limits>
#include <utility>

#include "encore/ir/support/strings.h"
#include "encore/tests/onnx/base_models.h"
#include "encore/tests/onnx/mutations.h"

namespace encore::tests {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

class ModelMutator {
 public:
  explicit ModelMutator(const Sink& sink) : sink_(sink) {}

  void MutateGraph();
  void MutateVersions();
  void MutateDeclarations();
  void MutateSubgraphs();
  void MutateBytes();
  // Each subgraph of the sample's nodes.
  void MutateBranches(const Sample& sample);

 private:
  GraphProto* Begin() {
    model_ = Chain();
    return model_.mutable_graph();
  }
  void Emit(std::string_view what, std::string_view rule, Fault fault) {
    sink_({StrCat("model/", what), model_.SerializeAsString(), std::move(fault),
           std::string(rule), base_});
  }
  void EmitBytes(std::string_view what, std::string bytes) {
    // Protobuf's own parser is the judge.
    ModelProto parsed;
    if (parsed.ParseFromString(bytes)) return;
    sink_({StrCat("bytes/", what),
           std::move(bytes),
           {},
           "protobuf cannot parse it"});
  }
  struct Branch {
    const ModelProto* model;
    int node, attribute;
    std::string title;
  };
  void MutateBranch(const Branch& branch);

  const Sink& sink_;
  std::string base_;
  ModelProto model_;
};

void ModelMutator::MutateGraph() {
  Begin()->mutable_node(0)->set_input(1, "y");
  Emit("cyclic", "graphs are acyclic", {.node = kNodeName});
  Begin()->mutable_node(0)->set_input(1, "a");
  Emit("reads itself", "graphs are acyclic", {.node = kNodeName});
  GraphProto* graph = Begin();
  graph->mutable_node()->SwapElements(0, 1);
  Emit("unsorted", "nodes are sorted topologically", {.node = "Relu_2"});
  graph = Begin();
  *graph->add_node() = graph->node(0);
  Emit("output made twice", "names are given once", {.node = kNodeName});
  Begin()->mutable_node(0)->set_output(0, "x");
  Emit("output named as an input", "names are given once", {.node = kNodeName});
  Begin()->mutable_node(0)->set_output(0, "w");
  Emit("output named as an initializer", "names are given once",
       {.node = kNodeName});
  graph = Begin();
  *graph->add_input() = graph->input(0);
  Emit("input twice", "names are given once", {.value = "x"});
  graph = Begin();
  *graph->add_initializer() = graph->initializer(0);
  Emit("initializer twice", "names are given once", {.value = "w"});
  graph = Begin();
  *graph->add_output() = graph->output(0);
  Emit("output twice", "", {.value = "y"});
  Begin()->clear_output();
  Emit("no outputs", "", {.field = "outputs"});
  Begin()->mutable_output(0)->set_name("nobody_makes_this");
  Emit("output of nobody", "outputs are made by nodes",
       {.value = "nobody_makes_this"});
  Begin()->clear_initializer();
  Emit("initializer missing", "values are made before they are read",
       {.node = kNodeName});
  Begin()->clear_input();
  Emit("input missing", "values are made before they are read",
       {.node = kNodeName});
  Begin()->mutable_input(0)->clear_name();
  Emit("input without a name", "names are not empty", {.field = "input #0"});
  Begin()->mutable_input(0)->clear_type();
  Emit("input without a type", "inputs have types", {.value = "x"});
  Begin()->clear_name();
  Emit("graph without a name", "", {.field = "graph"});
  Begin()->mutable_node(0)->set_domain("com.frobnicate");
  Emit("unknown domain", "nobody defines the domain", {.node = kNodeName});
  Begin();
  model_.clear_graph();
  Emit("no graph", "a model has a graph", {.field = "graph"});
}

void ModelMutator::MutateVersions() {
  Begin();
  model_.clear_opset_import();
  Emit("no opset_import", "a model imports opsets", {.field = "opset_import"});
  Begin();
  model_.mutable_opset_import(0)->set_domain("frobnicate");
  Emit("default domain not imported", "domains of nodes are imported",
       {.node = kNodeName, .field = "opset_import"});
  for (const int64_t version : {int64_t{0}, int64_t{-1}, int64_t{1} << 40}) {
    Begin();
    model_.mutable_opset_import(0)->set_version(version);
    Emit(StrCat("opset ", version), "there is no such opset",
         {.field = StrCat("opset ", version)});
  }
  for (const int64_t version : {int64_t{0}, int64_t{-1}, int64_t{1} << 40}) {
    Begin();
    model_.set_ir_version(version);
    Emit(StrCat("ir_version ", version), "there is no such format",
         {.field = StrCat("ir_version ", version)});
  }
  Begin();
  model_.clear_ir_version();
  Emit("no ir_version", "ir_version is required", {.field = "ir_version"});
  Begin();
  *model_.add_opset_import() = model_.opset_import(0);
  model_.mutable_opset_import(1)->set_version(3);
  Emit("opset imported twice", "a domain is imported once",
       {.field = "opset_import"});
}

void ModelMutator::MutateDeclarations() {
  const auto tensor = [&] {
    return Begin()->mutable_output(0)->mutable_type()->mutable_tensor_type();
  };
  for (const int type : {0, 7, 8, 99, -1}) {
    tensor()->set_elem_type(type);
    Emit(StrCat("output/type ", type), type == 7 ? "Relu makes floats" : "",
         {.node = "Relu_2", .value = "y"});
  }
  tensor()->mutable_shape()->add_dim()->set_dim_value(1);
  Emit("output/rank 3", "Relu keeps the shape",
       {.node = "Relu_2", .value = "y"});
  tensor()->mutable_shape()->mutable_dim(1)->set_dim_value(4);
  Emit("output/dim 4", "Relu keeps the shape",
       {.node = "Relu_2", .value = "y"});
  const auto input = [&] {
    return Begin()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  };
  for (const int type : {0, 8, 99, -1}) {
    input()->set_elem_type(type);
    Emit(StrCat("input/type ", type), "Add takes numbers",
         {.node = kNodeName, .value = "x"});
  }
  for (const int64_t dim :
       {int64_t{-1}, int64_t{4}, std::numeric_limits<int64_t>::min()}) {
    input()->mutable_shape()->mutable_dim(1)->set_dim_value(dim);
    Emit(StrCat("input/dim ", dim), "dims broadcast", {.node = kNodeName});
  }
  const auto middle = [&] {
    auto* info = Begin()->add_value_info();
    Value("a", 1, {2, 3}, info);
    return info->mutable_type()->mutable_tensor_type();
  };
  middle()->set_elem_type(7);
  Emit("value/type", "Add makes floats", {.node = kNodeName});
  middle()->mutable_shape()->add_dim()->set_dim_value(1);
  Emit("value/rank", "Add keeps the shape", {.node = kNodeName});
}

// `levels` models of If, one in another, as bytes: protobuf's own writer would
// recurse.
std::string NestedIfs(int levels) {
  const auto field = [](int number, const std::string& content) {
    std::string bytes(1, static_cast<char>(number << 3 | 2));
    for (size_t size = content.size();; size >>= 7) {
      bytes += static_cast<char>((size & 0x7f) | (size >= 0x80 ? 0x80 : 0));
      if (size < 0x80) return bytes + content;
    }
  };
  GraphProto innermost;
  innermost.set_name("g");
  AddNode(&innermost, "Identity", {"x"}, {"y"});
  innermost.add_output()->set_name("y");
  std::string graph = innermost.SerializeAsString();
  for (int i = 0; i < levels; ++i) {
    std::string node =
        field(1, "c") + field(2, "y") + field(3, kNodeName) + field(4, "If");
    for (const char* name : {"then_branch", "else_branch"}) {
      // The other branch is a small one, or the size would double.
      const std::string body = std::string_view(name) == "then_branch"
                                   ? graph
                                   : innermost.SerializeAsString();
      node += field(5, field(1, name) + field(6, body) + "\xa0\x01\x05");
    }
    graph = field(1, node) + field(2, "g") + field(12, field(1, "y"));
  }
  ModelProto model = EmptyModel();
  ::onnx::ValueInfoProto condition, x;
  Value("c", TensorProto::BOOL, {}, &condition);
  Value("x", TensorProto::FLOAT, {2}, &x);
  model.clear_graph();
  return model.SerializeAsString() +
         field(7, graph + field(11, condition.SerializeAsString()) +
                      field(11, x.SerializeAsString()));
}

void ModelMutator::MutateBranches(const Sample& sample) {
  const GraphProto& graph = sample.model.graph();
  const std::string title =
      std::filesystem::path(sample.name).parent_path().filename().string();
  for (int n = 0; n < graph.node_size(); ++n) {
    for (int a = 0; a < graph.node(n).attribute_size(); ++a) {
      if (!graph.node(n).attribute(a).has_g()) continue;
      MutateBranch({&sample.model, n, a, title});
    }
  }
}

void ModelMutator::MutateBranch(const Branch& branch) {
  const auto begin = [&] {
    model_ = *branch.model;
    NodeProto* node = model_.mutable_graph()->mutable_node(branch.node);
    node->set_name(kNodeName);
    return node->mutable_attribute(branch.attribute)->mutable_g();
  };
  const std::string attribute = branch.model->graph()
                                    .node(branch.node)
                                    .attribute(branch.attribute)
                                    .name();
  const auto emit = [&](std::string_view what, std::string_view rule) {
    Emit(StrCat("subgraph/", branch.title, "/", attribute, "/", what), rule,
         {.node = kNodeName});
  };
  begin();
  base_ = model_.SerializeAsString();
  begin()->clear_output();
  emit("no outputs", "the operator wants outputs of its body");
  GraphProto* body = begin();
  if (body->output_size() > 0) {
    body->mutable_output()->RemoveLast();
    emit("an output less", "the operator wants an output for each");
    body = begin();
    *body->add_output() = body->output(0);
    emit("an output more", "");
    begin()->mutable_output(0)->set_name("nobody_makes_this");
    emit("output of nobody", "outputs are made by nodes");
    body = begin();
    body->mutable_output(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->set_elem_type(TensorProto::STRING);
    emit("output of strings", "");
  }
  Value("one_more", TensorProto::FLOAT, {}, begin()->add_input());
  emit("an input more", "the operator gives fewer inputs");
  body = begin();
  if (body->input_size() > 0) {
    body->mutable_input()->RemoveLast();
    emit("an input less", "the operator gives more inputs");
  }
  body = begin();
  if (body->node_size() > 0 && body->node(0).input_size() > 0) {
    body->mutable_node(0)->set_input(0, "nobody_makes_this");
    emit("input of nobody", "values are made before they are read");
  }
}

void ModelMutator::MutateSubgraphs() {
  for (const int levels : {100, 1000, 10000}) {
    // The file is not a protobuf message any parser must take: nesting is
    // limited.
    sink_({StrCat("subgraph/nested ", levels),
           NestedIfs(levels),
           {.node = kNodeName, .attribute = "then_branch"},
           "protobuf limits nesting to 100 messages"});
  }
}

void ModelMutator::MutateBytes() {
  const std::string good = Chain().SerializeAsString();
  for (size_t size = 1; size < good.size(); size += 3) {
    EmitBytes(StrCat("truncated to ", size), good.substr(0, size));
  }
  for (size_t at = 0; at < good.size(); at += 2) {
    for (const char byte : {'\xff', '\x07', '\x00'}) {
      std::string bytes = good;
      bytes[at] = byte;
      EmitBytes(StrCat("byte ", at, " is ", static_cast<int>(byte) & 255),
                std::move(bytes));
    }
  }
  // A kilobyte that announces 2 GiB, and lengths beyond every number.
  EmitBytes("2 GiB announced", std::string("\x3a\x80\x80\x80\x80\x08", 6) +
                                   std::string(1018, 'x'));
  EmitBytes("2^63 bytes announced",
            "\x3a" + std::string(9, '\xff') + "\x01" + std::string(64, 'x'));
  EmitBytes("varint without end", "\x08" + std::string(100, '\xff'));
  EmitBytes("tag without end", std::string(100, '\xff'));
  EmitBytes("field 0", std::string("\x00\x01", 2));
  EmitBytes("group", std::string("\x0b\x0b\x0b", 3));
  sink_({"bytes/empty", "", {.field = "graph"}, "a model has a graph"});
  sink_({"bytes/text", std::string(2000, 'a'), {}, "no protobuf message"});
  sink_({"bytes/zeros", std::string(4096, '\0'), {}, "field 0"});
}

}  // namespace

void MutateModels(const std::vector<Sample>& corpus, const Sink& sink) {
  ModelMutator mutator(sink);
  mutator.MutateGraph();
  mutator.MutateVersions();
  mutator.MutateDeclarations();
  mutator.MutateSubgraphs();
  for (const Sample& sample : corpus) {
    mutator.MutateBranches(sample);
  }
  mutator.MutateBytes();
}

}  // namespace encore::tests
