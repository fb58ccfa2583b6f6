#include "encore/ir/text/attribute_text.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/literal_text.h"

namespace encore::text {
namespace {

// Writes one field.
struct Printer {
  std::string* out;
  std::span<const Symbol> symbols;

  void Print(bool value) { StrAppend(out, value); }
  void Print(int64_t value) { StrAppend(out, value); }
  void Print(double value) {
    if (!std::isnan(value)) return StrAppend(out, value);
    char digits[17] = {};
    std::to_chars(digits, digits + sizeof(digits),
                  std::bit_cast<uint64_t>(value), 16);
    StrAppend(out, "0x", std::string_view(digits));
  }
  void Print(DType value) { StrAppend(out, value); }
  void Print(const std::string& value) { StrAppend(out, Quote(value)); }
  void Print(const Ints& value) {
    StrAppend(out, "[", StrJoin(value, ", "), "]");
  }
  void Print(const Dims& value) {
    StrAppend(out, "[",
              StrJoin(value, ", ",
                      [&](std::string* to, const Dim& dim) {
                        to->append(dim.ToString(symbols));
                      }),
              "]");
  }
  void Print(const AxisPairs& value) {
    Print(value.lhs);
    StrAppend(out, "x");
    Print(value.rhs);
  }
  void Print(const Literal& value) { AppendLiteral(out, value); }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void Print(Enum value) {
    StrAppend(out, EnumText(value));
  }
};

// Reads one field.
struct Reader {
  Lexer& lexer;
  const SymbolLookup& symbols;
  int64_t* budget;

  Status Read(bool* value) {
    if (!lexer.IsName("true") && !lexer.IsName("false")) {
      return lexer.Expected("true or false");
    }
    *value = lexer.Next().text == "true";
    return OkStatus();
  }
  Status Read(int64_t* value) {
    ENCORE_ASSIGN_OR_RETURN(*value, lexer.ExpectInteger("an integer"));
    return OkStatus();
  }
  Status Read(double* value) {
    const bool negative = lexer.Accept("-");
    const Token token = lexer.peek();
    if (token.kind == TokenKind::kNumber || token.kind == TokenKind::kName) {
      if (token.text.starts_with("0x") && !negative) {
        uint64_t bits;
        const char* end = token.text.data() + token.text.size();
        const auto result =
            std::from_chars(token.text.data() + 2, end, bits, 16);
        if (result.ec != std::errc() || result.ptr != end) {
          return lexer.Expected("the bits of a number");
        }
        *value = std::bit_cast<double>(bits);
        lexer.Next();
        return OkStatus();
      }
      const auto number = ParseDouble(negative ? StrCat("-", token.text)
                                               : std::string(token.text));
      if (number) {
        *value = *number;
        lexer.Next();
        return OkStatus();
      }
    }
    return lexer.Expected("a number");
  }
  Status Read(DType* value) {
    ENCORE_ASSIGN_OR_RETURN(*value, ParseDTypeName(lexer));
    return OkStatus();
  }
  Status Read(std::string* value) {
    ENCORE_ASSIGN_OR_RETURN(*value, lexer.ExpectString("a string"));
    return OkStatus();
  }
  Status Read(Ints* value) {
    ENCORE_RETURN_IF_ERROR(lexer.Expect("["));
    value->clear();
    if (lexer.Accept("]")) return OkStatus();
    do {
      ENCORE_ASSIGN_OR_RETURN(const int64_t item,
                              lexer.ExpectInteger("an integer"));
      value->push_back(item);
    } while (lexer.Accept(","));
    return lexer.Expect("]");
  }
  Status Read(Dims* value) {
    ENCORE_ASSIGN_OR_RETURN(*value, ParseDims(lexer, symbols));
    return OkStatus();
  }
  Status Read(AxisPairs* value) {
    ENCORE_RETURN_IF_ERROR(Read(&value->lhs));
    if (!lexer.AcceptName("x")) return lexer.Expected("'x' and axes");
    return Read(&value->rhs);
  }
  Status Read(Literal* value) {
    ENCORE_ASSIGN_OR_RETURN(*value, ParseLiteral(lexer, budget));
    return OkStatus();
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  Status Read(Enum* value) {
    const auto found = lexer.peek().kind == TokenKind::kName
                           ? EnumValue<Enum>(lexer.peek().text)
                           : std::nullopt;
    if (!found) return lexer.Expected(StrCat("one of ", Choices<Enum>()));
    *value = *found;
    lexer.Next();
    return OkStatus();
  }

  template <typename Enum>
  static std::string Choices() {
    std::vector<std::string_view> texts;
    for (uint64_t i = 0; const auto value = EnumFromInt<Enum>(i); ++i) {
      texts.push_back(EnumText(*value));
    }
    return StrJoin(texts, ", ");
  }
};

std::string FieldNames(const Attributes& attributes) {
  std::vector<std::string_view> names;
  VisitFields(attributes, [&](std::string_view name, const auto&, const auto&) {
    names.push_back(name);
  });
  return names.empty() ? "no attribute" : StrJoin(names, ", ");
}

}  // namespace

void AppendAttributes(std::string* out, const Attributes& attributes,
                      std::span<const Symbol> symbols) {
  bool first = true;
  VisitFields(attributes, [&](std::string_view name, const auto& field,
                              const auto& fallback) {
    if (SameBits(field, fallback)) return;
    StrAppend(out, first ? " {" : ", ", name, " = ");
    first = false;
    Printer{out, symbols}.Print(field);
  });
  if (!first) out->push_back('}');
}

Status ParseAttributes(Lexer& lexer, const SymbolLookup& symbols,
                       int64_t* budget, Attributes* attributes) {
  if (!lexer.Accept("{") || lexer.Accept("}")) return OkStatus();
  std::set<std::string> seen;
  do {
    const Token token = lexer.peek();
    const std::string choices = FieldNames(*attributes);
    ENCORE_ASSIGN_OR_RETURN(const std::string name, lexer.ExpectName(choices));
    if (!seen.insert(name).second) {
      return lexer.ErrorAt(token.offset,
                           StrCat("attribute ", name, " is there twice"));
    }
    ENCORE_RETURN_IF_ERROR(lexer.Expect("="));
    bool found = false;
    Status read;
    VisitFields(*attributes,
                [&](std::string_view field_name, auto& field, const auto&) {
                  if (field_name != name) return;
                  found = true;
                  read = Reader{lexer, symbols, budget}.Read(&field);
                });
    ENCORE_RETURN_IF_ERROR(read);
    if (!found) {
      return lexer.ErrorAt(
          token.offset, StrCat("no attribute ", name, ", expected ", choices));
    }
  } while (lexer.Accept(","));
  return lexer.Expect("}");
}

}  // namespace encore::text
