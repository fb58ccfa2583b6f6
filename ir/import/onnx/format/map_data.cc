#include "encore/ir/import/onnx/format/map_data.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/format/wire.h"
#include "encore/ir/import/onnx/format/wire_fields.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// A MapProto as it stands in the file.
struct MapMessage {
  int32_t key_type = 0;
  std::vector<int64_t> keys;
  std::vector<std::string_view> string_keys;
  std::string_view values;  // a SequenceProto
};

StatusOr<MapMessage> ReadMessage(std::string_view bytes) {
  MapMessage message;
  Wire wire(bytes);
  while (wire.Next()) {
    switch (wire.field()) {
      case fields::Map::kKeyType:
        wire.Get(&message.key_type);
        break;
      case fields::Map::kKeys:
        wire.Append(&message.keys);
        break;
      case fields::Map::kStringKeys:
        wire.Append(&message.string_keys);
        break;
      case fields::Map::kValues:
        wire.Get(&message.values);
        break;
    }
  }
  ENCORE_RETURN_IF_ERROR(wire.status());
  return message;
}

// The place of each key among `keys`, in ascending order of the keys.
template <typename Key, typename Given>
StatusOr<std::map<Key, size_t>> Places(const std::vector<Given>& keys) {
  std::map<Key, size_t> places;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!places.emplace(keys[i], i).second) {
      return InvalidArgumentError(
          StrCat("key ", i, " of a map is there twice"));
    }
  }
  return places;
}

template <typename Key>
std::vector<size_t> Order(const std::map<Key, size_t>& places) {
  std::vector<size_t> order;
  for (const auto& [key, place] : places) order.push_back(place);
  return order;
}

// The keys in ascending order, and where each has its value.
StatusOr<Literal> SortedKeys(const MapMessage& message, const Type& type,
                             std::vector<size_t>* order) {
  if (message.key_type != type.key_type) {
    return InvalidArgumentError(StrCat("keys of a map are ",
                                       ElementText(message.key_type), ", not ",
                                       ElementText(type.key_type)));
  }
  const bool strings =
      type.key_type == static_cast<int32_t>(ElementType::kString);
  if (strings ? !message.keys.empty() : !message.string_keys.empty()) {
    return InvalidArgumentError(
        StrCat("a map of ", ElementText(type.key_type),
               " has keys in the field of another type"));
  }
  if (strings) {
    ENCORE_ASSIGN_OR_RETURN(const auto places,
                            Places<std::string>(message.string_keys));
    *order = Order(places);
    std::vector<std::string> keys;
    for (const auto& [key, place] : places) keys.push_back(key);
    const auto count = static_cast<int64_t>(keys.size());
    return Literal::Strings({count}, std::move(keys));
  }
  ENCORE_ASSIGN_OR_RETURN(const auto places, Places<int64_t>(message.keys));
  *order = Order(places);
  std::vector<int64_t> keys;
  for (const auto& [key, place] : places) keys.push_back(key);
  return Literal::Vector<int64_t>(keys);
}

// Puts `value`, of one element, at place `i`.
void SetElement(const Literal& value, int64_t i, Literal* values) {
  if (IsString(value.dtype())) {
    values->mutable_strings()[i] = value.strings()[0];
    return;
  }
  const std::span<const std::byte> from = value.bytes();
  std::memcpy(values->mutable_bytes().data() + i * from.size(), from.data(),
              from.size());
}

// The values of a map in the order of `order`, from place `at` on.
Status SetValues(const MapMessage& message, const std::vector<size_t>& order,
                 const DataSource& source, int64_t at, Literal* values) {
  ENCORE_ASSIGN_OR_RETURN(
      const std::vector<Tensor> tensors,
      ReadSequence(std::as_bytes(std::span(message.values))));
  if (tensors.size() != order.size()) {
    return InvalidArgumentError(StrCat("a map has ", order.size(), " keys and ",
                                       tensors.size(), " values"));
  }
  for (const size_t place : order) {
    ENCORE_ASSIGN_OR_RETURN(const Literal value,
                            ToLiteral(tensors[place], source));
    if (value.element_count() != 1 || value.dtype() != values->dtype()) {
      return InvalidArgumentError(StrCat("value ", place, " of a map is ",
                                         value.type(), ", expected one ",
                                         values->dtype()));
    }
    SetElement(value, at++, values);
  }
  return OkStatus();
}

StatusOr<std::vector<MapMessage>> ReadMessages(std::string_view bytes,
                                               bool sequence) {
  std::vector<MapMessage> messages;
  if (!sequence) {
    ENCORE_ASSIGN_OR_RETURN(messages.emplace_back(), ReadMessage(bytes));
    return messages;
  }
  Wire wire(bytes);
  while (wire.Next()) {
    if (wire.field() == fields::Sequence::kMapValues) {
      std::string_view map;
      wire.Get(&map);
      ENCORE_ASSIGN_OR_RETURN(messages.emplace_back(), ReadMessage(map));
    } else if (wire.field() > fields::Sequence::kElemType) {
      return InvalidArgumentError(
          "a sequence of maps has elements that are none");
    }
  }
  ENCORE_RETURN_IF_ERROR(wire.status());
  return messages;
}

}  // namespace

StatusOr<MapData> ToMap(std::span<const std::byte> bytes, const Type& type,
                        const DataSource& source) {
  const bool sequence = type.kind == Type::Kind::kMapSequence;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  ENCORE_ASSIGN_OR_RETURN(const std::vector<MapMessage> messages,
                          ReadMessages(text, sequence));
  ENCORE_ASSIGN_OR_RETURN(const DType dtype, DTypeOf(type.element_type));
  if (IsPacked(dtype)) {
    return UnimplementedError(StrCat("a map to ", dtype, " is not supported"));
  }
  ENCORE_ASSIGN_OR_RETURN(const DType key_dtype, DTypeOf(type.key_type));
  MapData data{Literal(key_dtype, {0}), Literal()};
  std::vector<size_t> order;
  for (size_t i = 0; i < messages.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(Literal keys,
                            SortedKeys(messages[i], type, &order));
    const auto count = keys.element_count();
    if (i == 0) {
      data.keys = std::move(keys);
      const auto maps = static_cast<int64_t>(messages.size());
      data.values = Literal(dtype, sequence ? std::vector<int64_t>{maps, count}
                                            : std::vector<int64_t>{count});
    } else if (!(keys == data.keys)) {
      return InvalidArgumentError(
          StrCat("map ", i, " of a sequence has other keys than the first"));
    }
    ENCORE_RETURN_IF_ERROR(SetValues(messages[i], order, source,
                                     static_cast<int64_t>(i) * count,
                                     &data.values));
  }
  if (messages.empty()) data.values = Literal(dtype, {0, 0});
  return data;
}

}  // namespace encore::onnx
