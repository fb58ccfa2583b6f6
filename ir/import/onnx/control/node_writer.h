// NodeWriter: a node of the model in ONNX's own operators, where another says
// what it does.
#ifndef ENCORE_IR_IMPORT_ONNX_CONTROL_NODE_WRITER_H_
#define ENCORE_IR_IMPORT_ONNX_CONTROL_NODE_WRITER_H_

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/scope/context.h"

namespace encore::onnx {

// Names that it makes up live as long as this. `context` outlives it.
class NodeWriter {
 public:
  explicit NodeWriter(const NodeContext& context) : context_(context) {}

  // A name that no other value has: there is one node with its outputs.
  std::string_view Name(std::string_view what, size_t number = 0);

  static Node MakeNode(std::string_view op,
                       std::vector<std::string_view> inputs,
                       std::vector<std::string_view> outputs);
  // A value of a type that the model does not say.
  static ValueInfo Info(std::string_view name);

  static Node MakeLoop(std::vector<std::string_view> inputs,
                       std::vector<std::string_view> outputs, Graph body);

 private:
  const NodeContext& context_;
  std::deque<std::string> names_;
};

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_CONTROL_NODE_WRITER_H_
