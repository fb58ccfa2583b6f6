// Operators of the domain com.microsoft in the standard's own, where these do
// part of their work.
#ifndef ENCORE_IR_IMPORT_ONNX_MICROSOFT_STANDARD_CALLS_H_
#define ENCORE_IR_IMPORT_ONNX_MICROSOFT_STANDARD_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/import/onnx/control/node_writer.h"
#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

using NodeAttributes = std::vector<Attribute>;

// Attributes of a call.
Attribute IntAttr(std::string_view name, int64_t value);
Attribute FloatAttr(std::string_view name, float value);

// Calls, from the converter of one node, of converters of the default domain.
class StandardCalls {
 public:
  // `context` outlives it.
  explicit StandardCalls(NodeContext& context)
      : context_(context), names_(context) {}

  // Those of the node's attributes that have these names: what the called
  // operator says of them holds. They count as known.
  NodeAttributes Own(std::initializer_list<std::string_view> names);

  // The results of the operator in its newest form. An invalid value is an
  // input that is left out. REQUIRES an operator that there is a converter for.
  StatusOr<std::vector<Value>> Call(std::string_view op_type,
                                    const std::vector<Value>& inputs,
                                    const NodeAttributes& attributes,
                                    int outputs);
  // Of an operator with one result.
  StatusOr<Value> Call(std::string_view op_type,
                       const std::vector<Value>& inputs,
                       const NodeAttributes& attributes = {});

 private:
  // A name that nothing has.
  std::string_view FreshName(std::string_view op_type);

  NodeContext& context_;
  NodeWriter names_;
  size_t count_ = 0;
};

// Input i of `context`; an invalid value where it is left out.
Value OptionalInput(NodeContext& context, int i);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_MICROSOFT_STANDARD_CALLS_H_
