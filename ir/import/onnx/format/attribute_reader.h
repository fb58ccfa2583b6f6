// Typed access to a node's attributes, with errors that name the attribute.
//
// An attribute of another type than asked for is an error, and so is one that
// nothing asked for: Finish() reports what a converter did not know.
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_ATTRIBUTE_READER_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_ATTRIBUTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// The attribute's type; what it holds where its type field is not set, as in
// old files.
AttributeType TypeOf(const Attribute& attribute);
std::string_view TypeName(AttributeType type);

class AttributeReader {
 public:
  // REQUIRES that `node` outlives the reader.
  explicit AttributeReader(const Node& node);

  bool Has(std::string_view name) const { return Find(name) != nullptr; }

  // The value, or `fallback` where the attribute is absent.
  StatusOr<int64_t> Int(std::string_view name, int64_t fallback);
  StatusOr<bool> Bool(std::string_view name, bool fallback);
  StatusOr<float> Float(std::string_view name, float fallback);
  StatusOr<std::string> String(std::string_view name,
                               std::string_view fallback);
  // What the word that a string attribute is means; where it is absent, the
  // first one. InvalidArgument lists the words where it is none of these.
  template <typename Meaning>
  StatusOr<Meaning> Word(
      std::string_view name,
      std::initializer_list<std::pair<std::string_view, Meaning>> words) {
    std::vector<std::string_view> known;
    for (const auto& [word, meaning] : words) known.push_back(word);
    const StatusOr<size_t> place = PlaceOfWord(name, known);
    if (!place.ok()) return place.status();
    return words.begin()[*place].second;
  }
  StatusOr<std::vector<int64_t>> Ints(std::string_view name,
                                      std::vector<int64_t> fallback);
  StatusOr<std::vector<float>> Floats(std::string_view name);
  StatusOr<std::vector<std::string>> Strings(std::string_view name);

  // Nothing where absent.
  StatusOr<std::optional<std::vector<int64_t>>> OptionalInts(
      std::string_view name);
  // Null where absent; owned by the node.
  // `type`: kTensor or kSparseTensor.
  StatusOr<const Tensor*> TensorValue(
      std::string_view name, AttributeType type = AttributeType::kTensor);

  StatusOr<const Type*> TypeValue(std::string_view name);

  // InvalidArgument where absent.
  StatusOr<int64_t> RequiredInt(std::string_view name);
  StatusOr<std::vector<int64_t>> RequiredInts(std::string_view name);
  StatusOr<const Graph*> RequiredGraph(std::string_view name);

  // Marks an attribute as known without reading it.
  void Ignore(std::string_view name);

  // InvalidArgument where the node has an attribute that nothing asked for, or
  // one attribute twice.
  Status Finish() const;

 private:
  const Attribute* Find(std::string_view name) const;
  StatusOr<size_t> PlaceOfWord(std::string_view name,
                               const std::vector<std::string_view>& words);
  // The attribute, null where absent; an error where it has another type.
  StatusOr<const Attribute*> Take(std::string_view name, AttributeType type);

  const Node& node_;
  std::vector<bool> known_;
};

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_ATTRIBUTE_READER_H_
