#include "encore/ir/import/onnx/format/element_types.h"

#include <utility>

#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

constexpr std::pair<std::string_view, ElementType> kElements[] = {
    {"float", ElementType::kFloat},
    {"uint8", ElementType::kUint8},
    {"int8", ElementType::kInt8},
    {"uint16", ElementType::kUint16},
    {"int16", ElementType::kInt16},
    {"int32", ElementType::kInt32},
    {"int64", ElementType::kInt64},
    {"string", ElementType::kString},
    {"bool", ElementType::kBool},
    {"float16", ElementType::kFloat16},
    {"double", ElementType::kDouble},
    {"uint32", ElementType::kUint32},
    {"uint64", ElementType::kUint64},
    {"complex64", ElementType::kComplex64},
    {"complex128", ElementType::kComplex128},
    {"bfloat16", ElementType::kBfloat16},
    {"float8e4m3fn", ElementType::kFloat8E4M3FN},
    {"float8e4m3fnuz", ElementType::kFloat8E4M3FNUZ},
    {"float8e5m2", ElementType::kFloat8E5M2},
    {"float8e5m2fnuz", ElementType::kFloat8E5M2FNUZ},
    {"uint4", ElementType::kUint4},
    {"int4", ElementType::kInt4},
    {"float4e2m1", ElementType::kFloat4E2M1},
    {"float8e8m0", ElementType::kFloat8E8M0},
    {"uint2", ElementType::kUint2},
    {"int2", ElementType::kInt2},
    {"float6e2m3", ElementType::kFloat6E2M3},
    {"float6e3m2", ElementType::kFloat6E3M2},
};

}  // namespace

std::string_view ElementName(ElementType type) {
  for (const auto& [text, element] : kElements) {
    if (element == type) return text;
  }
  return "unknown";
}

std::string ElementText(int32_t data_type) {
  for (const auto& [text, element] : kElements) {
    if (static_cast<int32_t>(element) == data_type) return std::string(text);
  }
  return StrCat(data_type);
}

ElementType ElementNamed(std::string_view name) {
  for (const auto& [text, element] : kElements) {
    if (text == name) return element;
  }
  return ElementType::kUndefined;
}

}  // namespace encore::onnx
