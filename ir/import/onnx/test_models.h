// ONNX models for tests, as bytes that say what a test wants them to say.
#ifndef ENCORE_IR_IMPORT_ONNX_TEST_MODELS_H_
#define ENCORE_IR_IMPORT_ONNX_TEST_MODELS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/importer.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// Writes protocol-buffer messages, so that a test can say what a file says.
class Proto {
 public:
  Proto& Int(int field, uint64_t value) {
    Varint(static_cast<uint64_t>(field) << 3);
    Varint(value);
    return *this;
  }
  Proto& Bytes(int field, std::string_view value) {
    Varint(static_cast<uint64_t>(field) << 3 | 2);
    Varint(value.size());
    bytes_ += value;
    return *this;
  }
  Proto& Float(int field, float value) {
    Varint(static_cast<uint64_t>(field) << 3 | 5);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Proto& Sub(int field, const Proto& message) {
    return Bytes(field, message.bytes_);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

inline Proto Node(std::string_view op, std::vector<std::string_view> inputs,
                  std::vector<std::string_view> outputs,
                  const std::vector<Proto>& attributes = {}) {
  Proto node;
  for (const auto input : inputs) node.Bytes(1, input);
  for (const auto output : outputs) node.Bytes(2, output);
  node.Bytes(3, std::string(op) + "_node").Bytes(4, op);
  for (const Proto& attribute : attributes) node.Sub(5, attribute);
  return node;
}

inline Proto IntAttribute(std::string_view name, int64_t value) {
  return Proto().Bytes(1, name).Int(3, value).Int(20, 2);
}

inline Proto StringAttribute(std::string_view name, std::string_view value) {
  return Proto().Bytes(1, name).Bytes(4, value).Int(20, 3);
}

inline Proto IntsAttribute(std::string_view name, std::vector<int64_t> values) {
  Proto attribute;
  attribute.Bytes(1, name);
  for (const int64_t value : values) attribute.Int(8, value);
  return attribute.Int(20, 7);
}

// Element types, as TensorProto numbers them.
inline constexpr int kFloat = 1, kInt64 = 7, kBool = 9;

// A tensor; dims are numbers or names.
inline Proto TensorInput(std::string_view name, std::vector<std::string> dims,
                         int element_type = kFloat) {
  Proto shape;
  for (const std::string& dim : dims) {
    const bool number = dim[0] >= '0' && dim[0] <= '9';
    shape.Sub(
        1, number ? Proto().Int(1, std::stoull(dim)) : Proto().Bytes(2, dim));
  }
  const Proto tensor = Proto().Int(1, element_type).Sub(2, shape);
  return Proto().Bytes(1, name).Sub(2, Proto().Sub(1, tensor));
}

// An attribute that is a graph; its inputs and outputs have names alone.
inline Proto GraphAttribute(std::string_view name,
                            const std::vector<Proto>& nodes,
                            std::vector<std::string_view> outputs,
                            std::vector<std::string_view> inputs = {}) {
  Proto graph;
  for (const Proto& node : nodes) graph.Sub(1, node);
  graph.Bytes(2, "body");
  for (const auto input : inputs) graph.Sub(11, Proto().Bytes(1, input));
  for (const auto output : outputs) graph.Sub(12, Proto().Bytes(1, output));
  return Proto().Bytes(1, name).Sub(6, graph).Int(20, 5);
}

struct ModelText {
  std::vector<Proto> nodes;
  std::vector<Proto> inputs = {TensorInput("x", {"2", "3"})};
  std::string output = "y";
  int opset = 21;
  std::vector<Proto> initializers = {};
  std::vector<Proto> functions = {};
  std::vector<Proto> sparse_initializers = {};
  int ir_version = 8;
  // What is declared of the output, where not its name alone, and of values.
  std::optional<Proto> output_type = std::nullopt;
  std::vector<Proto> values = {};
};

inline StatusOr<encore::Graph> ImportText(const ModelText& text,
                                          const ImportOptions& options = {}) {
  Proto graph;
  for (const Proto& node : text.nodes) graph.Sub(1, node);
  graph.Bytes(2, "g");
  for (const Proto& tensor : text.initializers) graph.Sub(5, tensor);
  for (const Proto& tensor : text.sparse_initializers) graph.Sub(15, tensor);
  for (const Proto& input : text.inputs) graph.Sub(11, input);
  graph.Sub(12, text.output_type.value_or(Proto().Bytes(1, text.output)));
  for (const Proto& value : text.values) graph.Sub(13, value);
  Proto model;
  model.Int(1, text.ir_version).Sub(8, Proto().Bytes(1, "").Int(2, text.opset));
  if (!text.functions.empty()) {
    model.Sub(8, Proto().Bytes(1, "f").Int(2, 1));
  }
  for (const Proto& function : text.functions) model.Sub(25, function);
  auto bytes = std::make_shared<const std::string>(model.Sub(7, graph).bytes());
  return Import(std::as_bytes(std::span(*bytes)), bytes, {}, options);
}

inline std::string ErrorOf(const ModelText& text,
                           const ImportOptions& options = {}) {
  const auto graph = ImportText(text, options);
  return graph.ok() ? "no error" : encore::Message(graph.status());
}

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_TEST_MODELS_H_
