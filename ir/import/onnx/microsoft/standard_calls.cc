#include "encore/ir/import/onnx/microsoft/standard_calls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "encore/ir/import/onnx/converter_table.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"

namespace encore::onnx {

Attribute IntAttr(std::string_view name, int64_t value) {
  Attribute attribute = {.name = name, .type = AttributeType::kInt};
  attribute.i = value;
  return attribute;
}

Attribute FloatAttr(std::string_view name, float value) {
  Attribute attribute = {.name = name, .type = AttributeType::kFloat};
  attribute.f = value;
  return attribute;
}

NodeAttributes StandardCalls::Own(
    std::initializer_list<std::string_view> names) {
  NodeAttributes own;
  for (const Attribute& attribute : context_.node().attributes) {
    if (std::ranges::find(names, attribute.name) == names.end()) continue;
    context_.attributes().Ignore(attribute.name);
    own.push_back(attribute);
  }
  return own;
}

std::string_view StandardCalls::FreshName(std::string_view op_type) {
  for (;;) {
    const std::string_view name = names_.Name(op_type, count_++);
    if (context_.scope().Find(name) == nullptr) return name;
  }
}

StatusOr<std::vector<Value>> StandardCalls::Call(
    std::string_view op_type, const std::vector<Value>& inputs,
    const NodeAttributes& attributes, int outputs) {
  // What an error made invalid is not left out.
  ENCORE_RETURN_IF_ERROR(context_.builder().status());
  Node node;
  node.name = context_.node().name;
  node.op_type = op_type;
  node.attributes = attributes;
  for (const Value& input : inputs) {
    node.inputs.emplace_back();
    if (!input.valid()) continue;
    node.inputs.back() = FreshName(op_type);
    Bound bound{input, std::nullopt, std::nullopt};
    if (input.constant() != nullptr) bound.constant = *input.constant();
    ENCORE_RETURN_IF_ERROR(
        context_.scope().Bind(node.inputs.back(), std::move(bound)));
  }
  for (int i = 0; i < outputs; ++i) {
    node.outputs.push_back(FreshName(op_type));
  }
  NodeContext call(node, context_.scope(), context_.source());
  const Converter* converter = FindConverter(op_type);
  ENCORE_CHECK(converter != nullptr) << op_type;
  ENCORE_RETURN_IF_ERROR(converter->convert(call));
  std::vector<Value> results;
  for (const std::string_view output : node.outputs) {
    results.push_back(context_.scope().Tensor(output));
  }
  return results;
}

StatusOr<Value> StandardCalls::Call(std::string_view op_type,
                                    const std::vector<Value>& inputs,
                                    const NodeAttributes& attributes) {
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> results,
                          Call(op_type, inputs, attributes, 1));
  return results[0];
}

Value OptionalInput(NodeContext& context, int i) {
  return context.HasInput(i) ? context.Input(i) : Value();
}

}  // namespace encore::onnx
