#include "encore/backends/cuda/emulator/parse/variable_parser.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include "encore/backends/cuda/emulator/types.h"
#include "encore/ir/support/parse_number.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/float_formats.h"

namespace encore::ptx {
namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;

std::optional<uint64_t> HexBits(std::string_view text, size_t digits) {
  if (text.size() != digits) return std::nullopt;
  uint64_t bits = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, bits, 16);
  if (error != std::errc() || rest != end) return std::nullopt;
  return bits;
}

// The value of a float token; nothing where it is an integer.
std::optional<double> FloatValue(std::string_view text) {
  const std::string_view head = text.substr(0, 2);
  if (head == "0f" || head == "0F") {
    const auto bits = HexBits(text.substr(2), 8);
    if (!bits.has_value()) return std::nullopt;
    return std::bit_cast<float>(static_cast<uint32_t>(*bits));
  }
  if (head == "0d" || head == "0D") {
    const auto bits = HexBits(text.substr(2), 16);
    if (!bits.has_value()) return std::nullopt;
    return std::bit_cast<double>(*bits);
  }
  if (head == "0x" || head == "0X") return std::nullopt;
  if (text.find_first_of(".eE") == std::string_view::npos) return std::nullopt;
  return ParseNumber<double>(text);
}

struct Reader {
  Lexer& lexer;
  const FindVariable& find;
  Type type = Type::kB8;
  Declaration out;

  Status Head();
  Status Sizes(uint64_t elements);
  Status Value();
  Status Element(size_t index);
  Status Address(size_t index, bool generic);
};

Status Reader::Head() {
  uint64_t elements = 1;
  while (true) {
    if (lexer.AcceptWord(".align")) {
      ENCORE_ASSIGN_OR_RETURN(out.alignment,
                              lexer.ExpectInteger("an alignment"));
      if (!std::has_single_bit(out.alignment) || out.alignment > 4096) {
        return lexer.ErrorAt(lexer.peek().line,
                             "the alignment is no power of two up to 4096");
      }
    } else if (lexer.AcceptWord(".v2")) {
      elements = 2;
    } else if (lexer.AcceptWord(".v4")) {
      elements = 4;
    } else if (lexer.AcceptWord(".ptr") || lexer.AcceptWord(".global") ||
               lexer.AcceptWord(".const") || lexer.AcceptWord(".local") ||
               lexer.AcceptWord(".shared")) {
      // What a parameter points to.
    } else {
      break;
    }
    if (lexer.peek().kind == TokenKind::kEnd) break;
  }
  const std::string_view word = lexer.peek().text;
  const auto found =
      word.starts_with('.') ? FindType(word.substr(1)) : std::nullopt;
  if (!found.has_value() || *found == Type::kPred) {
    return lexer.Expected("a type");
  }
  type = *found;
  lexer.Next();
  // `.param .u64 .ptr .global .align 1 name`
  while (lexer.AcceptWord(".ptr") || lexer.AcceptWord(".global") ||
         lexer.AcceptWord(".const") || lexer.AcceptWord(".local") ||
         lexer.AcceptWord(".shared")) {
  }
  if (lexer.AcceptWord(".align")) {
    ENCORE_RETURN_IF_ERROR(lexer.ExpectInteger("an alignment").status());
  }
  out.line = lexer.peek().line;
  ENCORE_ASSIGN_OR_RETURN(const std::string_view name,
                          lexer.ExpectWord("a name"));
  out.name = name;
  return Sizes(elements);
}

Status Reader::Sizes(uint64_t elements) {
  const auto width = static_cast<uint64_t>(ByteWidth(type));
  out.alignment = std::max(out.alignment, width * elements);
  out.bytes = width * elements;
  while (lexer.Accept('[')) {
    if (lexer.Accept(']')) {
      out.unsized = true;
      out.bytes = 0;
      continue;
    }
    ENCORE_ASSIGN_OR_RETURN(const uint64_t size, lexer.ExpectInteger("a size"));
    if (size > kMostBytes || out.bytes * size > kMostBytes) {
      return lexer.ErrorAt(out.line,
                           StrCat("variable ", out.name, " is over 256 MiB"));
    }
    out.bytes *= size;
    ENCORE_RETURN_IF_ERROR(lexer.Expect(']'));
  }
  return OkStatus();
}

Status Reader::Address(size_t index, bool generic) {
  ENCORE_ASSIGN_OR_RETURN(const std::string_view name,
                          lexer.ExpectWord("a number or a variable"));
  const auto variable = find(name);
  if (!variable.has_value()) {
    return lexer.ErrorAt(lexer.peek().line,
                         StrCat("no variable is called ", Quote(name)));
  }
  if (ByteWidth(type) != 8) {
    return lexer.ErrorAt(lexer.peek().line,
                         "an address stands in a variable of 64 bits only");
  }
  if (generic) ENCORE_RETURN_IF_ERROR(lexer.Expect(')'));
  if (lexer.Accept('+')) {
    ENCORE_ASSIGN_OR_RETURN(const uint64_t addend,
                            lexer.ExpectInteger("an offset"));
    std::memcpy(out.value.data() + index * 8, &addend, 8);
  }
  out.pointers.push_back({index * 8, *variable, generic});
  return OkStatus();
}

Status Reader::Element(size_t index) {
  const auto width = static_cast<size_t>(ByteWidth(type));
  if ((index + 1) * width > out.bytes) {
    return lexer.ErrorAt(lexer.peek().line, StrCat("more values than ",
                                                   out.name, " has elements"));
  }
  if (lexer.AcceptWord("generic")) {
    ENCORE_RETURN_IF_ERROR(lexer.Expect('('));
    return Address(index, true);
  }
  const bool negative = lexer.Accept('-');
  if (lexer.peek().kind != TokenKind::kNumber) {
    if (negative) return lexer.Expected("a number");
    return Address(index, false);
  }
  const auto bits = NumberBits(lexer.peek().text, negative, type);
  if (!bits.has_value()) return lexer.Expected("a number of the type");
  lexer.Next();
  std::memcpy(out.value.data() + index * width, &*bits, width);
  return OkStatus();
}

Status Reader::Value() {
  if (!lexer.Accept('=')) return OkStatus();
  out.value.assign(out.bytes, std::byte{0});
  // Braces nest as the sizes do; the elements are in order.
  size_t index = 0;
  int depth = 0;
  do {
    while (lexer.Accept('{')) ++depth;
    if (!lexer.Is('}')) ENCORE_RETURN_IF_ERROR(Element(index++));
    while (depth > 0 && lexer.Accept('}')) --depth;
  } while (depth > 0 && lexer.Accept(','));
  if (depth > 0) return lexer.Expected("',' or '}'");
  return OkStatus();
}

}  // namespace

std::optional<uint64_t> NumberBits(std::string_view text, bool negative,
                                   Type type) {
  const int bits = BitWidth(type);
  if (const auto value = FloatValue(text)) {
    const double number = negative ? -*value : *value;
    switch (type) {
      case Type::kF64:
      case Type::kB64:
        return std::bit_cast<uint64_t>(number);
      case Type::kF32:
      case Type::kTF32:
      case Type::kB32:
        return std::bit_cast<uint32_t>(static_cast<float>(number));
      case Type::kF16:
        return EncodeFloat(DType::kF16, number);
      case Type::kBF16:
        return EncodeFloat(DType::kBF16, number);
      default:
        return std::nullopt;
    }
  }
  const auto value = IntegerOf(text);
  // Half floats are given as the bits they have.
  const bool is_real = type == Type::kF32 || type == Type::kF64;
  if (!value.has_value() || is_real) return std::nullopt;
  return LowBits(negative ? 0 - *value : *value, bits);
}

StatusOr<Declaration> ParseDeclaration(Lexer& lexer, const FindVariable& find) {
  Reader reader{lexer, find, Type::kB8, {}};
  ENCORE_RETURN_IF_ERROR(reader.Head());
  ENCORE_RETURN_IF_ERROR(reader.Value());
  return std::move(reader.out);
}

}  // namespace encore::ptx
