// The operators of the ONNX standard as data: every version of each, with its
// inputs, outputs, attributes and their types; and those of ONNX Runtime's
// domain com.microsoft that Encore has.
//
// schemas.def is written by export_schemas.py from the onnx package,
// microsoft_schemas.def by export_microsoft_schemas.py from onnxruntime; a row
// is parsed on first use. Thread-safe: schemas never change.
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_SCHEMA_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_SCHEMA_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// Types of values: for each kind a bit per element type; of maps that of their
// values.
struct TypeSet {
  enum Kind {
    kTensor,
    kSequence,
    kOptional,
    kOptionalSequence,
    kIntMap,
    kStringMap,
    kIntMapSequence,
    kStringMapSequence,
    kKinds
  };
  std::array<uint32_t, kKinds> elements = {};

  // False also for what is no element type, which files may have.
  bool Contains(Kind kind, ElementType element) const {
    const auto bit = static_cast<uint32_t>(element);
    return bit < 32 && (elements[kind] >> bit & 1) != 0;
  }
};

// One version of an operator.
struct Schema {
  struct Parameter {
    enum class Option { kSingle, kOptional, kVariadic };
    std::string_view name;
    // Its variable or, where it has none, the set's name.
    std::string_view variable;
    TypeSet types;
    Option option = Option::kSingle;
    // Of a variadic one: how many at least, and whether all are of one type.
    int least = 1;
    bool homogeneous = true;
  };
  struct AttributeRow {
    std::string_view name;
    AttributeType type = AttributeType::kUndefined;
    bool required = false;
  };
  std::string_view op_type;
  int since = 0;
  std::vector<Parameter> inputs, outputs;
  std::vector<AttributeRow> attributes;
};

// The operator as `opset` of its domain has it. NotFound where the standard has
// no such operator at that opset, or has deprecated it; the message says which.
// Only domains that IsKnownDomain() have any. Two that ONNX Runtime writes into
// models of any opset are there in all: SimplifiedLayerNormalization, which is
// its own, and LayerNormalization.
StatusOr<const Schema*> FindSchema(std::string_view domain,
                                   std::string_view op_type, int64_t opset);
bool IsKnownDomain(std::string_view domain);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_SCHEMA_H_
