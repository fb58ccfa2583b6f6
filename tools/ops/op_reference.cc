#include "encore/tools/ops/op_reference.h"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "nlohmann/json.hpp"

namespace encore::tools {
namespace {

using Json = nlohmann::ordered_json;

// The type of a field as the text of a graph has it.
template <typename Field>
std::string TypeText() {
  if constexpr (std::is_same_v<Field, bool>) {
    return "bool";
  } else if constexpr (std::is_same_v<Field, int64_t>) {
    return "integer";
  } else if constexpr (std::is_same_v<Field, double>) {
    return "number";
  } else if constexpr (std::is_same_v<Field, DType>) {
    return "dtype";
  } else if constexpr (std::is_same_v<Field, std::string>) {
    return "string";
  } else if constexpr (std::is_same_v<Field, Ints>) {
    return "integers";
  } else if constexpr (std::is_same_v<Field, Dims>) {
    return "dims";
  } else if constexpr (std::is_same_v<Field, AxisPairs>) {
    return "axes x axes";
  } else if constexpr (std::is_same_v<Field, Literal>) {
    return "literal";
  } else {
    std::vector<std::string_view> texts;
    for (uint64_t i = 0; const auto value = EnumFromInt<Field>(i); ++i) {
      texts.push_back(EnumText(*value));
    }
    return StrJoin(texts, "/");
  }
}

std::string AttributesText(const OpInfo& info) {
  std::vector<std::string> fields;
  const Attributes attributes = DefaultAttributes(info.attributes);
  VisitFields(
      attributes, [&](std::string_view name, const auto& field, const auto&) {
        fields.push_back(StrCat(
            "`", name, "`: ", TypeText<std::decay_t<decltype(field)>>()));
      });
  return StrJoin(fields, ", ");
}

// "floats" for kFloats.
std::string DTypesText(const OpInfo& info) {
  std::string text(info.dtypes_text.substr(1));
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// A pipe would end a table's cell.
std::string Cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string_view LevelText(const OpInfo& info) {
  return info.level == OpLevel::kPrimitive ? "primitive" : "composite";
}

// "ref, cpu".
std::string BackendsText(const OpEntry& entry) {
  std::vector<std::string_view> names;
  for (const BackendDTypes& backend : entry.backends) {
    names.push_back(backend.backend);
  }
  return StrJoin(names, ", ");
}

void AppendTable(OpLevel level, std::span<const OpEntry> ops,
                 std::string* out) {
  out->append(
      "| op | signature | T | attributes | result | backends | ONNX |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const OpEntry& entry : ops) {
    const OpInfo& info = *entry.info;
    if (info.level != level) continue;
    StrAppend(out, "| `", info.mnemonic, "` | `", info.signature_text, "` | ",
              DTypesText(info), " | ", AttributesText(info), " | ",
              Cell(info.summary), " | ", BackendsText(entry), " | ",
              StrJoin(entry.onnx, ", "), " |\n");
  }
}

Json DTypeNames(std::span<const DType> dtypes) {
  Json names = Json::array();
  for (const DType dtype : dtypes) names.push_back(std::string(Name(dtype)));
  return names;
}

Json AttributesJson(const OpInfo& info) {
  Json fields = Json::object();
  const Attributes attributes = DefaultAttributes(info.attributes);
  VisitFields(
      attributes, [&](std::string_view name, const auto& field, const auto&) {
        fields[std::string(name)] = TypeText<std::decay_t<decltype(field)>>();
      });
  return fields;
}

}  // namespace

std::string OpReferenceMarkdown(std::span<const OpEntry> ops,
                                std::span<const OnnxEntry> onnx) {
  std::string out =
      "# Operators\n\n`bazel-bin/tools/encore ops --markdown > ir/ops/OPS.md` "
      "writes this page anew. The signature's `T` is the same dtype wherever "
      "it stands, `seq` a sequence of it, `I` is i32 or i64, `A` anything, "
      "`attr` the attribute dtype; "
      "`?` ends optional operands, `...` any number. Backends are those that "
      "compile the operator in some dtype, by itself or as its decomposition "
      "(`encore ops --json` says in which); ONNX operators stand where they "
      "end, up to movement and arithmetic around it.\n\n## Primitives\n\n";
  AppendTable(OpLevel::kPrimitive, ops, &out);
  out.append("\n## Composites, each with a decomposition into primitives\n\n");
  AppendTable(OpLevel::kComposite, ops, &out);
  out.append(
      "\n## ONNX operators\n\nOpsets that are read, grouped where an older "
      "form is upgraded to the next.\n\n| ONNX | op | opsets |\n"
      "|---|---|---|\n");
  for (const OnnxEntry& entry : onnx) {
    StrAppend(&out, "| ", entry.op_type, " | ",
              entry.op ? StrCat("`", *entry.op, "`") : "", " | ",
              StrJoin(entry.opsets, ", "), " |\n");
  }
  return out;
}

std::string OpReferenceJson(std::span<const OpEntry> ops,
                            std::span<const OnnxEntry> onnx) {
  Json json;
  json["ops"] = Json::array();
  for (const OpEntry& entry : ops) {
    const OpInfo& info = *entry.info;
    Json op;
    op["op"] = std::string(info.mnemonic);
    op["level"] = std::string(LevelText(info));
    op["signature"] = std::string(info.signature_text);
    op["dtypes"] = DTypeNames(info.dtypes);
    op["attributes"] = AttributesJson(info);
    op["summary"] = std::string(info.summary);
    op["onnx"] = Json::array();
    for (const std::string_view name : entry.onnx) {
      op["onnx"].push_back(std::string(name));
    }
    op["backends"] = Json::object();
    for (const BackendDTypes& backend : entry.backends) {
      op["backends"][std::string(backend.backend)] = DTypeNames(backend.dtypes);
    }
    json["ops"].push_back(std::move(op));
  }
  json["onnx"] = Json::array();
  for (const OnnxEntry& entry : onnx) {
    json["onnx"].push_back(
        {{"onnx", std::string(entry.op_type)},
         {"op",
          entry.op ? Json(std::string(Mnemonic(*entry.op))) : Json(nullptr)},
         {"opsets", entry.opsets}});
  }
  return json.dump(1) + "\n";
}

std::string OpReferenceText(std::span<const OpEntry> ops) {
  std::string out;
  for (const OpEntry& entry : ops) {
    const OpInfo& info = *entry.info;
    std::string name(info.mnemonic);
    name.resize(std::max<size_t>(name.size(), 20), ' ');
    StrAppend(&out, name, " ", LevelText(info), "  ", info.signature_text,
              "  T: ", StrJoin(info.dtypes, " "), "\n    ", info.summary);
    if (!entry.backends.empty()) {
      StrAppend(&out, "\n    on ", BackendsText(entry));
    }
    if (!entry.onnx.empty()) {
      StrAppend(&out, "\n    ONNX: ", StrJoin(entry.onnx, ", "));
    }
    out += '\n';
  }
  return out;
}

}  // namespace encore::tools
