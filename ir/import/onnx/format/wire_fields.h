// Names for the field numbers of ONNX's messages: fields::Node::kOpType is 4.
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_WIRE_FIELDS_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_WIRE_FIELDS_H_

namespace encore::onnx::fields {

// One struct per row ENCORE_ONNX_MESSAGE of wire_fields.def, which holds its
// fields as an unscoped enum: Wire::field() compares with them.
#define ENCORE_ONNX_MESSAGE(Name, message) \
  struct Name {                            \
    enum Field : int {
#define ENCORE_ONNX_FIELD(Enumerator, field, number) Enumerator = (number),
#define ENCORE_ONNX_MESSAGE_END(Name) \
  }                                   \
  ;                                   \
  }                                   \
  ;
#include "encore/ir/import/onnx/format/wire_fields.def"
#undef ENCORE_ONNX_MESSAGE
#undef ENCORE_ONNX_FIELD
#undef ENCORE_ONNX_MESSAGE_END

}  // namespace encore::onnx::fields

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_WIRE_FIELDS_H_
