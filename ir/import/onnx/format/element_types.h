// The element types of ONNX's tensors.
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_ELEMENT_TYPES_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_ELEMENT_TYPES_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace encore::onnx {

// TensorProto.data_type.
enum class ElementType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};
inline constexpr ElementType kLastElementType = ElementType::kFloat6E3M2;

// onnx.proto's name of an element type, in small letters; "unknown" where it
// has none.
std::string_view ElementName(ElementType type);

// The name of the element type with that number, or the number.
std::string ElementText(int32_t data_type);

// The element type of that name; kUndefined where there is none.
ElementType ElementNamed(std::string_view name);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_ELEMENT_TYPES_H_
