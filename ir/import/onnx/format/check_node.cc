#include "encore/ir/import/onnx/format/check_node.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>

#include "encore/ir/import/onnx/format/attribute_reader.h"
#include "encore/ir/import/onnx/format/wire_fields.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr int64_t kLastType = static_cast<int64_t>(kLastElementType);

// attribute_values.def as it stands; words where there are any, else a range.
struct ValuesRow {
  std::string_view op_type, attribute;
  int since;
  std::string_view words;
  int64_t least = 0, most = 0;
};

#define ENCORE_ONNX_WORDS(op_type, attribute, since, words) \
  {op_type, attribute, since, words},
#define ENCORE_ONNX_RANGE(op_type, attribute, since, least, most) \
  {op_type, attribute, since, "", least, most},
constexpr ValuesRow kValuesRows[] = {
#include "encore/ir/import/onnx/format/attribute_values.def"
};
#undef ENCORE_ONNX_WORDS
#undef ENCORE_ONNX_RANGE

const ValuesRow* FindValues(const Schema& schema, std::string_view attribute) {
  const ValuesRow* best = nullptr;
  for (const ValuesRow& row : kValuesRows) {
    if (row.attribute != attribute || row.since > schema.since) continue;
    if (row.op_type != schema.op_type && !row.op_type.empty()) continue;
    const bool better =
        best == nullptr || (!row.op_type.empty() && best->op_type.empty()) ||
        (row.op_type == best->op_type && row.since > best->since);
    if (better) best = &row;
  }
  return best;
}

Status CheckValue(const ValuesRow& row, const Attribute& attribute,
                  AttributeType type) {
  if (type == AttributeType::kString && !row.words.empty()) {
    const auto words = StrSplit(row.words, ' ');
    if (std::find(words.begin(), words.end(), attribute.s) != words.end()) {
      return OkStatus();
    }
    return InvalidArgumentError(StrCat("attribute ", attribute.name, " is ",
                                       Quote(attribute.s), ", expected one of ",
                                       StrJoin(words, ", ")));
  }
  std::span<const int64_t> values;
  if (type == AttributeType::kInt) values = std::span(&attribute.i, 1);
  if (type == AttributeType::kInts) values = attribute.ints;
  if (!row.words.empty()) values = {};
  for (const int64_t value : values) {
    if (value >= row.least && value <= row.most) continue;
    const std::string expected = row.most == kAny
                                     ? StrCat("at least ", row.least)
                                     : StrCat(row.least, " to ", row.most);
    return InvalidArgumentError(
        StrCat("attribute ", attribute.name,
               type == AttributeType::kInts ? " has an entry " : " is ", value,
               ", expected ", expected));
  }
  return OkStatus();
}

// AttributeProto's field of a value of that type.
int FieldOf(AttributeType type) {
  using Field = fields::Attribute;
  // By type, from kUndefined on.
  constexpr int kFields[] = {0,
                             Field::kF,
                             Field::kI,
                             Field::kS,
                             Field::kT,
                             Field::kG,
                             Field::kFloats,
                             Field::kInts,
                             Field::kStrings,
                             Field::kTensors,
                             Field::kGraphs,
                             Field::kSparseTensor,
                             Field::kSparseTensors,
                             Field::kTp,
                             Field::kTypeProtos};
  const auto index = static_cast<size_t>(type);
  return index < std::size(kFields) ? kFields[index] : 0;
}

// Of an attribute whose value is one of the call's.
Status CheckReference(const Attribute& attribute, const Function* function) {
  const std::string_view name = attribute.ref_attr_name;
  if (function != nullptr &&
      (std::ranges::count(function->attributes, name) > 0 ||
       std::ranges::count(function->attribute_defaults, name,
                          &Attribute::name) > 0)) {
    return OkStatus();
  }
  return InvalidArgumentError(
      StrCat("attribute ", attribute.name, " refers to the attribute ", name,
             function == nullptr ? " of a function, but is in none"
                                 : ", which the function does not have"));
}

Status CheckAttribute(const Schema& schema, const Attribute& attribute,
                      const Function* function) {
  const auto row = std::find_if(
      schema.attributes.begin(), schema.attributes.end(),
      [&](const auto& known) { return known.name == attribute.name; });
  if (row == schema.attributes.end()) {
    return InvalidArgumentError(
        StrCat("attribute ", attribute.name, " is not one of the operator ",
               schema.op_type, " (version ", schema.since, ")"));
  }
  const bool refers = !attribute.ref_attr_name.empty();
  if (refers) ENCORE_RETURN_IF_ERROR(CheckReference(attribute, function));
  const auto type =
      attribute.type == AttributeType::kUndefined && attribute.values == 0
          ? row->type
          : TypeOf(attribute);
  if (type != row->type) {
    return InvalidArgumentError(StrCat("attribute ", attribute.name,
                                       " is of type ", TypeName(type),
                                       ", expected ", TypeName(row->type)));
  }
  if ((attribute.values & ~(uint32_t{1} << FieldOf(type))) != 0) {
    return InvalidArgumentError(StrCat(
        "attribute ", attribute.name, " has a value of another type than ",
        TypeName(type), ", the type that it declares"));
  }
  const ValuesRow* values = FindValues(schema, attribute.name);
  if (values == nullptr || refers) return OkStatus();
  return CheckValue(*values, attribute, type);
}

Status CheckAttributes(const Schema& schema, const Node& node,
                       const Function* function) {
  std::set<std::string_view> given;
  for (const Attribute& attribute : node.attributes) {
    if (!given.insert(attribute.name).second) {
      return InvalidArgumentError(
          StrCat("attribute ", attribute.name, " is given twice"));
    }
    ENCORE_RETURN_IF_ERROR(CheckAttribute(schema, attribute, function));
  }
  for (const Schema::AttributeRow& row : schema.attributes) {
    if (row.required && !given.contains(row.name)) {
      return InvalidArgumentError(
          StrCat("attribute ", row.name, " is missing"));
    }
  }
  return OkStatus();
}

// The parameter that argument i belongs to.
const Schema::Parameter& ParameterAt(
    const std::vector<Schema::Parameter>& parameters, size_t i) {
  return parameters[std::min(i, parameters.size() - 1)];
}

Status CheckCount(const std::vector<Schema::Parameter>& parameters,
                  const std::vector<std::string_view>& names,
                  std::string_view what) {
  using Option = Schema::Parameter::Option;
  size_t least = 0, most = parameters.size();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Schema::Parameter& parameter = parameters[i];
    if (parameter.option == Option::kSingle) least = i + 1;
    if (parameter.option != Option::kVariadic) continue;
    if (parameter.least > 0) least = i + parameter.least;
    most = std::numeric_limits<size_t>::max();
  }
  if (names.size() < least || names.size() > most) {
    return InvalidArgumentError(StrCat(
        names.size(), " ", what, "s, expected ", least,
        most == least                                ? ""
        : most == std::numeric_limits<size_t>::max() ? " or more"
                                                     : StrCat(" to ", most)));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const Schema::Parameter& parameter = ParameterAt(parameters, i);
    const bool needed =
        parameter.option == Option::kSingle ||
        (parameter.option == Option::kVariadic && what == "input");
    if (names[i].empty() && needed && what == "input") {
      return InvalidArgumentError(
          StrCat("input ", i, " (", parameter.name, ") is left out"));
    }
  }
  return OkStatus();
}

std::string TypeText(const ValueType& type) {
  constexpr std::string_view kBefore[] = {"",
                                          "sequence of ",
                                          "optional ",
                                          "optional sequence of ",
                                          "map of int64 to ",
                                          "map of string to ",
                                          "sequence of maps of int64 to ",
                                          "sequence of maps of string to "};
  static_assert(std::size(kBefore) == TypeSet::kKinds);
  return StrCat(kBefore[type.kind], ElementName(type.element));
}

}  // namespace

Status CheckNode(const Schema& schema, const Node& node,
                 const Function* function) {
  ENCORE_RETURN_IF_ERROR(CheckAttributes(schema, node, function));
  ENCORE_RETURN_IF_ERROR(CheckCount(schema.inputs, node.inputs, "input"));
  return CheckCount(schema.outputs, node.outputs, "output");
}

Status CheckTypes(const Schema& schema, const Node& node,
                  const TypeOfName& type_of) {
  // What the first input of each variable is.
  std::map<std::string_view, std::pair<std::string_view, ValueType>> bound;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].empty()) continue;
    const std::optional<ValueType> type = type_of(node.inputs[i]);
    if (!type) continue;
    const Schema::Parameter& parameter = ParameterAt(schema.inputs, i);
    if (!parameter.types.Contains(type->kind, type->element)) {
      return InvalidArgumentError(StrCat("input ", parameter.name, " (",
                                         Quote(node.inputs[i]), ") is of type ",
                                         TypeText(*type),
                                         ", which the operator does not take"));
    }
    if (!parameter.homogeneous) continue;
    const auto [first, inserted] =
        bound.emplace(parameter.variable, std::pair(node.inputs[i], *type));
    if (!inserted && first->second.second != *type) {
      return InvalidArgumentError(StrCat(
          "inputs ", Quote(first->second.first), " and ", Quote(node.inputs[i]),
          " are of types ", TypeText(first->second.second), " and ",
          TypeText(*type), ", expected one type"));
    }
  }
  return OkStatus();
}

}  // namespace encore::onnx
