// What the standard says in words of the values of attributes, which the table
// of operators (encore/ir/import/onnx/format/schema.h) does not have. Apart
// from the importer's own table, so that each checks the other.
#ifndef ENCORE_TESTS_ONNX_ATTRIBUTE_RULES_H_
#define ENCORE_TESTS_ONNX_ATTRIBUTE_RULES_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace encore::tests {

// Whether each text of the attribute is one of a list of words.
bool IsWord(std::string_view op, std::string_view attribute);

// The least value of the attribute, or of an entry of its list.
std::optional<int64_t> LeastValue(std::string_view op,
                                  std::string_view attribute);

// Whether the list has as many entries as another list of the node, so that one
// more or one less is wrong.
bool HasPartner(std::string_view op, std::string_view attribute);

}  // namespace encore::tests

#endif  // ENCORE_TESTS_ONNX_ATTRIBUTE_RULES_H_
