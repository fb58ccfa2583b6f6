#include "encore/ir/op_reference.h"

#include <string_view>
#include <type_traits>
#include <vector>

#include "encore/ir/attributes.h"
#include "encore/ir/op.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

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

void AppendTable(OpLevel level, std::string* out) {
  out->append(
      "| op | signature | T | attributes | result |\n|---|---|---|---|---|\n");
  for (const OpInfo& info : AllOps()) {
    if (info.level != level) continue;
    StrAppend(out, "| `", info.mnemonic, "` | `", info.signature_text, "` | ",
              DTypesText(info), " | ", AttributesText(info), " | ",
              Cell(info.summary), " |\n");
  }
}

}  // namespace

std::string OpReferenceMarkdown() {
  std::string out =
      "# Operators\n\nMade from `ops.def`; `bazel-bin/tools/encore ops "
      "--markdown > ir/OPS.md` writes it anew. The signature's `T` is the "
      "same dtype wherever it stands, `I` is i32 or i64, `A` anything, `attr` "
      "the attribute dtype; `?` ends optional operands, `...` any number.\n\n"
      "## Primitives\n\n";
  AppendTable(OpLevel::kPrimitive, &out);
  out.append("\n## Composites, each with a decomposition into primitives\n\n");
  AppendTable(OpLevel::kComposite, &out);
  return out;
}

}  // namespace encore
