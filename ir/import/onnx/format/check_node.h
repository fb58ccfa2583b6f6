// Checks of one ONNX node against its operator's schema, before a converter
// sees it: its attributes are known ones, of the right types and of allowed
// values, none is missing or there twice, and its inputs and outputs are as
// many, and of such types, as the operator takes.
//
// attribute_values.def has what the standard says of values in words only.
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_CHECK_NODE_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_CHECK_NODE_H_

#include <functional>
#include <optional>
#include <string_view>

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/format/schema.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// A type of a value.
struct ValueType {
  TypeSet::Kind kind = TypeSet::kTensor;
  ElementType element = ElementType::kUndefined;
  bool operator==(const ValueType&) const = default;
};

// The type of the value of that name; nothing where it is not known.
using TypeOfName =
    std::function<std::optional<ValueType>(std::string_view name)>;

// InvalidArgument where the node's attributes, or the number of its inputs or
// outputs, are not the operator's; the message names the attribute or input.
// `function`, if any, is the one that the node is in: only there may an
// attribute refer to one of the call's.
Status CheckNode(const Schema& schema, const Node& node,
                 const Function* function = nullptr);

// InvalidArgument where an input is of a type that the operator does not take,
// or inputs that share a type variable differ; the message names the input.
// REQUIRES that CheckNode passed.
Status CheckTypes(const Schema& schema, const Node& node,
                  const TypeOfName& type_of);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_CHECK_NODE_H_
