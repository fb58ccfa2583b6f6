#include "encore/ir/import/onnx/format/schema.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// schemas.def and microsoft_schemas.def as they stand.
struct TypesRow {
  std::string_view name, types;
};
struct OperatorRow {
  std::string_view domain, name;
  int since;
  bool deprecated;
  std::string_view inputs, outputs, attributes, types;
};

#define ENCORE_ONNX_OPERATOR(...)
#define ENCORE_ONNX_DEPRECATED(...)
#define ENCORE_ONNX_TYPES(name, types) {name, types},
constexpr TypesRow kTypesRows[] = {
#include "encore/ir/import/onnx/format/schemas.def"
// Behind it: rows are sorted by domain.
#include "encore/ir/import/onnx/format/microsoft_schemas.def"
};
#undef ENCORE_ONNX_OPERATOR
#undef ENCORE_ONNX_DEPRECATED
#undef ENCORE_ONNX_TYPES

#define ENCORE_ONNX_TYPES(...)
#define ENCORE_ONNX_OPERATOR(domain, name, since, inputs, outputs, attributes, \
                             types)                                            \
  {domain, name, since, false, inputs, outputs, attributes, types},
#define ENCORE_ONNX_DEPRECATED(domain, name, since) \
  {domain, name, since, true, "", "", "", ""},
constexpr OperatorRow kOperatorRows[] = {
#include "encore/ir/import/onnx/format/schemas.def"
// Behind it: rows are sorted by domain.
#include "encore/ir/import/onnx/format/microsoft_schemas.def"
};
#undef ENCORE_ONNX_OPERATOR
#undef ENCORE_ONNX_DEPRECATED
#undef ENCORE_ONNX_TYPES

constexpr std::string_view kMicrosoft = "com.microsoft";

ElementType ElementOf(std::string_view name) {
  const ElementType type = ElementNamed(name);
  ENCORE_CHECK(type != ElementType::kUndefined) << name;
  return type;
}

std::vector<std::string_view> Words(std::string_view text) {
  if (text.empty()) return {};
  return StrSplit(text, ' ');
}

// "name:rest".
std::pair<std::string_view, std::string_view> Halves(std::string_view text) {
  const size_t colon = text.find(':');
  return {text.substr(0, colon), text.substr(colon + 1)};
}

TypeSet ParseTypes(std::string_view text) {
  constexpr std::pair<std::string_view, TypeSet::Kind> kKinds[] = {
      {"optional.seq.", TypeSet::kOptionalSequence},
      {"optional.", TypeSet::kOptional},
      {"seq.map.int64.", TypeSet::kIntMapSequence},
      {"seq.map.string.", TypeSet::kStringMapSequence},
      {"seq.", TypeSet::kSequence},
      {"map.int64.", TypeSet::kIntMap},
      {"map.string.", TypeSet::kStringMap},
      {"", TypeSet::kTensor}};
  TypeSet set;
  for (const std::string_view word : Words(text)) {
    for (const auto& [prefix, kind] : kKinds) {
      if (!word.starts_with(prefix)) continue;
      const ElementType element = ElementOf(word.substr(prefix.size()));
      set.elements[kind] |= uint32_t{1} << static_cast<int>(element);
      break;
    }
  }
  return set;
}

const TypeSet& NamedTypes(std::string_view name) {
  static const auto table = [] {
    std::map<std::string_view, TypeSet> sets;
    for (const TypesRow& row : kTypesRows) {
      sets.emplace(row.name, ParseTypes(row.types));
    }
    return sets;
  }();
  const auto found = table.find(name);
  ENCORE_CHECK(found != table.end()) << name;
  return found->second;
}

std::vector<Schema::Parameter> ParseParameters(
    std::string_view text,
    const std::map<std::string_view, std::string_view>& variables) {
  using Option = Schema::Parameter::Option;
  std::vector<Schema::Parameter> parameters;
  for (const std::string_view word : Words(text)) {
    Schema::Parameter parameter;
    std::string_view type;
    std::tie(parameter.name, type) = Halves(word);
    const size_t end = type.find_first_of("?*~");
    if (end != std::string_view::npos) {
      const std::string_view suffix = type.substr(end);
      type = type.substr(0, end);
      parameter.option =
          suffix[0] == '?' ? Option::kOptional : Option::kVariadic;
      parameter.homogeneous = suffix[0] != '~';
      if (suffix[0] != '?') {
        parameter.least = static_cast<int>(*ParseInt64(suffix.substr(1)));
      }
    }
    const auto variable = variables.find(type);
    parameter.variable = type;
    parameter.types =
        NamedTypes(variable == variables.end() ? type : variable->second);
    parameters.push_back(parameter);
  }
  return parameters;
}

std::vector<Schema::AttributeRow> ParseAttributes(std::string_view text) {
  // Attribute types in the order of their numbers.
  constexpr std::string_view kCodes = " fistgFISTGpPyY";
  std::vector<Schema::AttributeRow> rows;
  for (const std::string_view word : Words(text)) {
    const auto [name, code] = Halves(word);
    const size_t number = kCodes.find(code[0]);
    ENCORE_CHECK(number != std::string_view::npos) << word;
    rows.push_back(
        {name, static_cast<AttributeType>(number), code.ends_with('!')});
  }
  return rows;
}

Schema Parse(const OperatorRow& row) {
  std::map<std::string_view, std::string_view> variables;
  for (const std::string_view word : Words(row.types)) {
    variables.insert(Halves(word));
  }
  return {row.name, row.since, ParseParameters(row.inputs, variables),
          ParseParameters(row.outputs, variables),
          ParseAttributes(row.attributes)};
}

constexpr auto KeyOf = [](const OperatorRow& row) {
  return std::tie(row.domain, row.name);
};
static_assert(std::ranges::is_sorted(kOperatorRows, {},
                                     [](const OperatorRow& row) {
                                       return std::tie(row.domain, row.name,
                                                       row.since);
                                     }));

Status NoSuchOperator(std::string_view domain, std::string_view op_type,
                      int64_t opset) {
  if (domain == kMicrosoft) {
    return NotFoundError(StrCat("the operator ", op_type, " of the domain ",
                                domain, " is not supported"));
  }
  return NotFoundError(
      StrCat("the operator ", op_type, " of opset ", opset,
             " is not supported: the standard",
             domain.empty() ? "" : StrCat(" (domain ", domain, ")"),
             " has none of that name"));
}

// Parsed when first asked for: a model has few of the operators.
const Schema& SchemaOf(const OperatorRow& row) {
  struct Entry {
    std::once_flag once;
    Schema schema;
  };
  static std::array<Entry, std::size(kOperatorRows)> entries;
  Entry& entry = entries[&row - kOperatorRows];
  std::call_once(entry.once, [&] { entry.schema = Parse(row); });
  return entry.schema;
}

}  // namespace

bool IsKnownDomain(std::string_view domain) {
  return std::ranges::binary_search(kOperatorRows, domain, {},
                                    &OperatorRow::domain);
}

StatusOr<const Schema*> FindSchema(std::string_view domain,
                                   std::string_view op_type, int64_t opset) {
  const auto versions = std::ranges::equal_range(
      kOperatorRows, std::tie(domain, op_type), {}, KeyOf);
  if (versions.empty()) {
    // ONNX Runtime writes this one of its own in the default domain.
    if (domain.empty() && op_type == "SimplifiedLayerNormalization") {
      return FindSchema(kMicrosoft, op_type, opset);
    }
    return NoSuchOperator(domain, op_type, opset);
  }
  const auto newer = std::ranges::upper_bound(
      versions, opset, {},
      [](const OperatorRow& row) { return int64_t{row.since}; });
  if (newer == versions.begin()) {
    // ONNX Runtime had this one before the standard, and fuses models of any
    // opset to it.
    if (domain.empty() && op_type == "LayerNormalization") {
      return &SchemaOf(versions.front());
    }
    return NotFoundError(StrCat("the operator ", op_type, " of opset ", opset,
                                " is not supported: it begins with opset ",
                                versions.front().since));
  }
  const OperatorRow& newest = *std::prev(newer);
  if (newest.deprecated) {
    return NotFoundError(StrCat("the operator ", op_type, " of opset ", opset,
                                " is not supported: it ended before opset ",
                                newest.since));
  }
  return &SchemaOf(newest);
}

}  // namespace encore::onnx
