#include "encore/ir/text/literal_text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/support/hex.h"
#include "encore/ir/support/parse_number.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/float_formats.h"
#include "encore/ir/types/type_text.h"

namespace encore::text {
namespace {

// More elements than this print as bytes.
constexpr int64_t kMaxListed = 256;

// The bits of element i, in the low bits.
uint64_t Bits(const Literal& literal, int64_t i) {
  if (IsPacked(literal.dtype())) {
    return LoadPacked(literal.dtype(), literal.bytes().data(), i);
  }
  const int width = BitWidth(literal.dtype()) / 8;
  uint64_t bits = 0;
  std::memcpy(&bits, literal.bytes().data() + i * width, width);
  return bits;
}

void SetBits(Literal* literal, int64_t i, uint64_t bits) {
  if (IsPacked(literal->dtype())) {
    return StorePacked(literal->dtype(), literal->mutable_bytes().data(), i,
                       static_cast<uint8_t>(bits));
  }
  const int width = BitWidth(literal->dtype()) / 8;
  std::memcpy(literal->mutable_bytes().data() + i * width, &bits, width);
}

std::optional<uint64_t> FloatBits(DType dtype, std::string_view text) {
  if (dtype == DType::kF64) {
    const auto value = ParseNumber<double>(text);
    if (!value) return std::nullopt;
    return std::bit_cast<uint64_t>(*value);
  }
  if (dtype == DType::kF32) {
    const auto value = ParseNumber<float>(text);
    if (!value) return std::nullopt;
    return std::bit_cast<uint32_t>(*value);
  }
  const auto value = ParseNumber<double>(text);
  if (!value) return std::nullopt;
  return EncodeFloat(dtype, *value);
}

std::optional<uint64_t> IntegerBits(DType dtype, std::string_view text) {
  const int width = BitWidth(dtype);
  const uint64_t mask = ~uint64_t{0} >> (64 - width);
  if (IsUnsigned(dtype)) {
    const auto value = ParseNumber<uint64_t>(text);
    if (!value || *value > mask) return std::nullopt;
    return *value;
  }
  const auto value = ParseNumber<int64_t>(text);
  const int64_t limit = static_cast<int64_t>(mask >> 1);
  if (!value || *value > limit || *value < -limit - 1) return std::nullopt;
  return static_cast<uint64_t>(*value) & mask;
}

// The bits that the text of an element stands for.
std::optional<uint64_t> ElementBits(DType dtype, std::string_view text) {
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    uint64_t bits;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, bits, 16);
    if (error != std::errc() || rest != end) return std::nullopt;
    if (bits > ~uint64_t{0} >> (64 - BitWidth(dtype))) return std::nullopt;
    return bits;
  }
  if (dtype == DType::kBool) {
    if (text == "true") return 1;
    if (text == "false") return 0;
    return std::nullopt;
  }
  return IsFloat(dtype) ? FloatBits(dtype, text) : IntegerBits(dtype, text);
}

// The fewest digits that give the bits of an element of a narrow format.
std::string NarrowFloatText(const Literal& literal, int64_t i) {
  const double value = literal.AsDouble(i);
  if (value == std::trunc(value)) return StrCat(static_cast<float>(value));
  char text[32];
  for (int digits = 1;; ++digits) {
    const char* end = std::to_chars(text, text + sizeof(text), value,
                                    std::chars_format::general, digits)
                          .ptr;
    const std::string_view view(text, end - text);
    if (digits == std::numeric_limits<float>::max_digits10 ||
        ElementBits(literal.dtype(), view) == Bits(literal, i)) {
      return std::string(view);
    }
  }
}

std::string ElementText(const Literal& literal, int64_t i) {
  if (IsString(literal.dtype())) return Quote(literal.strings()[i]);
  std::string text;
  switch (literal.dtype()) {
    case DType::kBool:
      text = literal.AsInt(i) != 0 ? "true" : "false";
      break;
    case DType::kF64:
      text = StrCat(literal.AsDouble(i));
      break;
    case DType::kU64:
      text = StrCat(Bits(literal, i));
      break;
    case DType::kF32:
      text = StrCat(static_cast<float>(literal.AsDouble(i)));
      break;
    default:
      text = IsFloat(literal.dtype()) ? NarrowFloatText(literal, i)
                                      : StrCat(literal.AsInt(i));
  }
  const uint64_t bits = Bits(literal, i);
  if (ElementBits(literal.dtype(), text) == bits) return text;
  char digits[17] = {};
  std::to_chars(digits, digits + sizeof(digits), bits, 16);
  return StrCat("0x", std::string_view(digits));
}

bool AllEqual(const Literal& literal) {
  if (literal.element_count() == 0) return false;
  if (IsString(literal.dtype())) {
    const std::vector<std::string>& strings = literal.strings();
    return std::all_of(strings.begin(), strings.end(),
                       [&](const std::string& s) { return s == strings[0]; });
  }
  if (IsPacked(literal.dtype())) {
    for (int64_t i = 1; i < literal.element_count(); ++i) {
      if (Bits(literal, i) != Bits(literal, 0)) return false;
    }
    return true;
  }
  const auto bytes = literal.bytes();
  const size_t width = BitWidth(literal.dtype()) / 8;
  return std::memcmp(bytes.data(), bytes.data() + width,
                     bytes.size() - width) == 0;
}

// Reads literals of one type.
class Reader {
 public:
  Reader(Lexer& lexer, DType dtype, std::vector<int64_t> dims, int64_t count)
      : lexer_(lexer), dtype_(dtype), dims_(std::move(dims)), count_(count) {}

  StatusOr<Literal> Hex() {
    const Token token = lexer_.peek();
    if (token.kind != TokenKind::kString || IsString(dtype_)) {
      return lexer_.Expected("bytes in hexadecimal");
    }
    const std::string_view digits = token.text.substr(1, token.text.size() - 2);
    const auto size = ByteSize(dtype_, count_);
    if (!size || digits.size() % 2 != 0 ||
        static_cast<uint64_t>(*size) != digits.size() / 2) {
      return lexer_.Expected(
          StrCat(size ? StrCat(*size) : "fewer", " bytes in hexadecimal"));
    }
    Literal literal(dtype_, dims_);
    const size_t read = ReadHex(digits, literal.mutable_bytes());
    if (read != digits.size()) {
      return lexer_.ErrorAt(token.offset + 1 + read, "not a hexadecimal byte");
    }
    lexer_.Next();
    return literal;
  }

  StatusOr<Literal> List() {
    const size_t offset = lexer_.peek().offset;
    ENCORE_RETURN_IF_ERROR(lexer_.Expect("["));
    std::vector<uint64_t> bits;
    std::vector<std::string> strings;
    while (!lexer_.Is("]")) {
      if (static_cast<int64_t>(bits.size() + strings.size()) == count_) {
        return lexer_.Expected(StrCat("']' after ", count_, " elements"));
      }
      ENCORE_RETURN_IF_ERROR(Element(&bits, &strings));
      if (!lexer_.Accept(",")) break;
    }
    const int64_t found = static_cast<int64_t>(bits.size() + strings.size());
    ENCORE_RETURN_IF_ERROR(lexer_.Expect("]"));
    if (found != count_) {
      return lexer_.ErrorAt(
          offset, StrCat("expected ", count_, " elements, found ", found));
    }
    if (IsString(dtype_)) return Literal::Strings(dims_, std::move(strings));
    Literal literal(dtype_, dims_);
    for (int64_t i = 0; i < count_; ++i) SetBits(&literal, i, bits[i]);
    return literal;
  }

  StatusOr<Literal> Splat(int64_t* budget) {
    const size_t offset = lexer_.peek().offset;
    std::vector<uint64_t> bits;
    std::vector<std::string> strings;
    ENCORE_RETURN_IF_ERROR(Element(&bits, &strings));
    int64_t cost = 0;
    const int64_t each =
        IsString(dtype_)
            ? static_cast<int64_t>(sizeof(std::string) + strings[0].size())
            : std::max(BitWidth(dtype_) / 8, 1);
    if (__builtin_mul_overflow(count_, each, &cost) || cost > *budget) {
      return lexer_.ErrorAt(offset, StrCat("a constant of ", count_,
                                           " elements is too large to repeat"));
    }
    *budget -= cost;
    if (IsString(dtype_)) {
      return Literal::Strings(dims_,
                              std::vector<std::string>(count_, strings[0]));
    }
    Literal literal(dtype_, dims_);
    if (IsPacked(dtype_)) {
      for (int64_t i = 0; i < count_; ++i) SetBits(&literal, i, bits[0]);
      return literal;
    }
    const std::span<std::byte> bytes = literal.mutable_bytes();
    const size_t width = BitWidth(dtype_) / 8;
    for (size_t i = 0; i < bytes.size(); i += width) {
      std::memcpy(bytes.data() + i, &bits[0], width);
    }
    return literal;
  }

 private:
  Status Element(std::vector<uint64_t>* bits,
                 std::vector<std::string>* strings) {
    if (IsString(dtype_)) {
      ENCORE_ASSIGN_OR_RETURN(std::string text,
                              lexer_.ExpectString("a string"));
      strings->push_back(std::move(text));
      return OkStatus();
    }
    const std::string what = StrCat("an element of type ", dtype_);
    const bool negative = lexer_.Accept("-");
    const Token token = lexer_.peek();
    if (token.kind != TokenKind::kNumber && token.kind != TokenKind::kName) {
      return lexer_.Expected(what);
    }
    const auto value = ElementBits(
        dtype_, negative ? StrCat("-", token.text) : std::string(token.text));
    if (!value) return lexer_.Expected(what);
    lexer_.Next();
    bits->push_back(*value);
    return OkStatus();
  }

  Lexer& lexer_;
  const DType dtype_;
  const std::vector<int64_t> dims_;
  const int64_t count_;
};

}  // namespace

void AppendLiteral(std::string* out, const Literal& literal) {
  StrAppend(out, literal.type(), " ");
  if (AllEqual(literal)) return StrAppend(out, ElementText(literal, 0));
  if (literal.element_count() > kMaxListed && !IsString(literal.dtype())) {
    out->append("hex \"");
    AppendHex(out, literal.Canonical().bytes());
    out->push_back('"');
    return;
  }
  out->push_back('[');
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    StrAppend(out, i == 0 ? "" : ", ", ElementText(literal, i));
  }
  out->push_back(']');
}

StatusOr<Literal> ParseLiteral(Lexer& lexer, int64_t* budget) {
  const size_t offset = lexer.peek().offset;
  ENCORE_ASSIGN_OR_RETURN(
      const TensorType type,
      ParseType(lexer, [](std::string_view) -> StatusOr<uint32_t> {
        return InvalidArgumentError("a literal's extents are integers");
      }));
  const auto dims = type.shape.Evaluate({});
  const auto count = dims ? ElementCount(*dims) : std::nullopt;
  if (!count || type.kind != ValueKind::kTensor ||
      type.shape.rank() > kMaxRank) {
    return lexer.ErrorAt(offset, "a literal cannot have this type");
  }
  Reader reader(lexer, type.dtype, *dims, *count);
  if (lexer.AcceptName("hex")) return reader.Hex();
  if (lexer.Is("[")) return reader.List();
  return reader.Splat(budget);
}

}  // namespace encore::text
