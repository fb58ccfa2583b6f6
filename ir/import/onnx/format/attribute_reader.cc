#include "encore/ir/import/onnx/format/attribute_reader.h"

#include <algorithm>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

Status Missing(std::string_view name) {
  return InvalidArgumentError(StrCat("attribute ", name, " is missing"));
}

}  // namespace

std::string_view TypeName(AttributeType type) {
  constexpr std::string_view kNames[] = {
      "undefined",      "float",   "int",    "string",
      "tensor",         "graph",   "floats", "ints",
      "strings",        "tensors", "graphs", "sparse tensor",
      "sparse tensors", "type",    "types"};
  const auto index = static_cast<size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

AttributeType TypeOf(const Attribute& attribute) {
  if (attribute.type != AttributeType::kUndefined) return attribute.type;
  if (attribute.t != nullptr) {
    return attribute.t->sparse == nullptr ? AttributeType::kTensor
                                          : AttributeType::kSparseTensor;
  }
  if (attribute.g != nullptr) return AttributeType::kGraph;
  if (!attribute.ints.empty()) return AttributeType::kInts;
  if (!attribute.floats.empty()) return AttributeType::kFloats;
  if (!attribute.strings.empty()) return AttributeType::kStrings;
  if (!attribute.s.empty()) return AttributeType::kString;
  if (attribute.f != 0) return AttributeType::kFloat;
  return AttributeType::kInt;
}

AttributeReader::AttributeReader(const Node& node)
    : node_(node), known_(node.attributes.size()) {}

const Attribute* AttributeReader::Find(std::string_view name) const {
  for (const Attribute& attribute : node_.attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

StatusOr<const Attribute*> AttributeReader::Take(std::string_view name,
                                                 AttributeType type) {
  const Attribute* attribute = Find(name);
  if (attribute == nullptr) return attribute;
  if (TypeOf(*attribute) != type) {
    return InvalidArgumentError(StrCat("attribute ", name, " is of type ",
                                       TypeName(TypeOf(*attribute)),
                                       ", expected ", TypeName(type)));
  }
  known_[attribute - node_.attributes.data()] = true;
  return attribute;
}

StatusOr<int64_t> AttributeReader::Int(std::string_view name,
                                       int64_t fallback) {
  ENCORE_ASSIGN_OR_RETURN(const Attribute* found,
                          Take(name, AttributeType::kInt));
  return found ? found->i : fallback;
}

StatusOr<bool> AttributeReader::Bool(std::string_view name, bool fallback) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t value, Int(name, fallback));
  if (value != 0 && value != 1) {
    return InvalidArgumentError(
        StrCat("attribute ", name, " is ", value, ", expected 0 or 1"));
  }
  return value == 1;
}

StatusOr<float> AttributeReader::Float(std::string_view name, float fallback) {
  ENCORE_ASSIGN_OR_RETURN(const Attribute* found,
                          Take(name, AttributeType::kFloat));
  return found ? found->f : fallback;
}

StatusOr<std::string> AttributeReader::String(std::string_view name,
                                              std::string_view fallback) {
  ENCORE_ASSIGN_OR_RETURN(const Attribute* found,
                          Take(name, AttributeType::kString));
  return std::string(found ? found->s : fallback);
}

StatusOr<std::optional<std::vector<int64_t>>> AttributeReader::OptionalInts(
    std::string_view name) {
  // An empty list without a type looks like a number.
  const Attribute* attribute = Find(name);
  if (attribute != nullptr && attribute->type == AttributeType::kUndefined &&
      attribute->ints.empty() && attribute->i == 0) {
    known_[attribute - node_.attributes.data()] = true;
    return std::optional(std::vector<int64_t>());
  }
  ENCORE_ASSIGN_OR_RETURN(const Attribute* found,
                          Take(name, AttributeType::kInts));
  std::optional<std::vector<int64_t>> ints;
  if (found) ints = found->ints;
  return ints;
}

StatusOr<size_t> AttributeReader::PlaceOfWord(
    std::string_view name, const std::vector<std::string_view>& words) {
  ENCORE_ASSIGN_OR_RETURN(const std::string given, String(name, words[0]));
  const auto place = std::ranges::find(words, given);
  if (place != words.end()) return static_cast<size_t>(place - words.begin());
  return InvalidArgumentError(StrCat("attribute ", name, " is ", Quote(given),
                                     ", expected ", StrJoin(words, ", ")));
}

StatusOr<std::vector<int64_t>> AttributeReader::Ints(
    std::string_view name, std::vector<int64_t> fallback) {
  ENCORE_ASSIGN_OR_RETURN(auto found, OptionalInts(name));
  return found ? *std::move(found) : std::move(fallback);
}

StatusOr<std::vector<float>> AttributeReader::Floats(std::string_view name) {
  ENCORE_ASSIGN_OR_RETURN(const Attribute* found,
                          Take(name, AttributeType::kFloats));
  return found ? found->floats : std::vector<float>();
}

StatusOr<std::vector<std::string>> AttributeReader::Strings(
    std::string_view name) {
  ENCORE_ASSIGN_OR_RETURN(const Attribute* found,
                          Take(name, AttributeType::kStrings));
  if (found == nullptr) return std::vector<std::string>();
  return std::vector<std::string>(found->strings.begin(), found->strings.end());
}

StatusOr<const Tensor*> AttributeReader::TensorValue(std::string_view name,
                                                     AttributeType type) {
  ENCORE_ASSIGN_OR_RETURN(const Attribute* found, Take(name, type));
  if (found == nullptr) return static_cast<const Tensor*>(nullptr);
  const bool sparse = type == AttributeType::kSparseTensor;
  if (found->t == nullptr || (found->t->sparse != nullptr) != sparse) {
    return Missing(name);
  }
  return found->t.get();
}

StatusOr<const Type*> AttributeReader::TypeValue(std::string_view name) {
  ENCORE_ASSIGN_OR_RETURN(const Attribute* found,
                          Take(name, AttributeType::kType));
  if (found == nullptr) return static_cast<const Type*>(nullptr);
  if (found->tp == nullptr) return Missing(name);
  return found->tp.get();
}

StatusOr<int64_t> AttributeReader::RequiredInt(std::string_view name) {
  if (!Has(name)) return Missing(name);
  return Int(name, 0);
}

StatusOr<std::vector<int64_t>> AttributeReader::RequiredInts(
    std::string_view name) {
  if (!Has(name)) return Missing(name);
  return Ints(name, {});
}

StatusOr<const Graph*> AttributeReader::RequiredGraph(std::string_view name) {
  ENCORE_ASSIGN_OR_RETURN(const Attribute* found,
                          Take(name, AttributeType::kGraph));
  if (found == nullptr || found->g == nullptr) return Missing(name);
  return found->g.get();
}

void AttributeReader::Ignore(std::string_view name) {
  for (size_t i = 0; i < known_.size(); ++i) {
    if (node_.attributes[i].name == name) known_[i] = true;
  }
}

Status AttributeReader::Finish() const {
  for (size_t i = 0; i < known_.size(); ++i) {
    const std::string_view name = node_.attributes[i].name;
    if (!known_[i]) {
      return InvalidArgumentError(
          StrCat("attribute ", name, " is not one of the operator"));
    }
  }
  return OkStatus();
}

}  // namespace encore::onnx
