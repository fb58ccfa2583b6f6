#include "encore/tests/onnx/base_models.h"

#include "encore/ir/support/strings.h"

namespace encore::tests {

using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

void Value(std::string_view name, int type, const std::vector<int64_t>& dims,
           ::onnx::ValueInfoProto* info) {
  info->set_name(std::string(name));
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (const int64_t dim : dims) {
    tensor->mutable_shape()->add_dim()->set_dim_value(dim);
  }
}

NodeProto* AddNode(GraphProto* graph, const std::string& op,
                   const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs) {
  NodeProto* node = graph->add_node();
  node->set_name(StrCat(op, "_", graph->node_size()));
  node->set_op_type(op);
  for (const auto& input : inputs) node->add_input(input);
  for (const auto& output : outputs) node->add_output(output);
  return node;
}

ModelProto EmptyModel(int opset) {
  ModelProto model;
  model.set_ir_version(8);
  auto* import = model.add_opset_import();
  import->set_domain("");
  import->set_version(opset);
  model.mutable_graph()->set_name("g");
  return model;
}

ModelProto Chain() {
  ModelProto model = EmptyModel();
  GraphProto* graph = model.mutable_graph();
  Value("x", 1, {2, 3}, graph->add_input());
  Value("y", 1, {2, 3}, graph->add_output());
  TensorProto* weights = graph->add_initializer();
  weights->set_name("w");
  weights->set_data_type(TensorProto::FLOAT);
  weights->add_dims(3);
  weights->set_raw_data(std::string(12, '\0'));
  AddNode(graph, "Add", {"x", "w"}, {"a"})->set_name(kNodeName);
  AddNode(graph, "Relu", {"a"}, {"y"});
  return model;
}

}  // namespace encore::tests
