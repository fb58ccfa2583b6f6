#include "encore/ir/import/onnx/control/node_writer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "encore/ir/support/strings.h"

namespace encore::onnx {

std::string_view NodeWriter::Name(std::string_view what, size_t number) {
  const auto& outputs = context_.node().outputs;
  const auto named = std::ranges::find_if(
      outputs, [](std::string_view name) { return !name.empty(); });
  return names_.emplace_back(StrCat(
      what, number, "@", named == outputs.end() ? std::string_view() : *named));
}

Node NodeWriter::MakeNode(std::string_view op,
                          std::vector<std::string_view> inputs,
                          std::vector<std::string_view> outputs) {
  Node node;
  node.op_type = op;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  return node;
}

ValueInfo NodeWriter::Info(std::string_view name) {
  ValueInfo info;
  info.name = name;
  return info;
}

Node NodeWriter::MakeLoop(std::vector<std::string_view> inputs,
                          std::vector<std::string_view> outputs, Graph body) {
  Attribute attribute;
  attribute.name = "body";
  attribute.type = AttributeType::kGraph;
  attribute.g = std::make_shared<const Graph>(std::move(body));
  Node node = MakeNode("Loop", std::move(inputs), std::move(outputs));
  node.attributes.push_back(std::move(attribute));
  return node;
}

}  // namespace encore::onnx
