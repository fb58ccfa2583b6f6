#include "encore/backends/cuda/emulator/parse/lexer.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool BeginsWord(char c) {
  return IsLetter(c) || c == '_' || c == '$' || c == '%' || c == '.';
}
bool ContinuesWord(char c) { return BeginsWord(c) || IsDigit(c); }

// The end of the word that starts at `at`; a pair of colons belongs to it where
// a letter or digit follows.
size_t WordEnd(std::string_view text, size_t at) {
  while (at < text.size()) {
    if (ContinuesWord(text[at])) {
      ++at;
    } else if (text.substr(at, 2) == "::" && at + 2 < text.size() &&
               ContinuesWord(text[at + 2])) {
      at += 2;
    } else {
      break;
    }
  }
  return at;
}

size_t NumberEnd(std::string_view text, size_t at) {
  const bool hexadecimal =
      text.substr(at, 2) == "0x" || text.substr(at, 2) == "0X" ||
      text.substr(at, 2) == "0f" || text.substr(at, 2) == "0F" ||
      text.substr(at, 2) == "0d" || text.substr(at, 2) == "0D";
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const bool exponent_sign = !hexadecimal && (c == '+' || c == '-') &&
                               (text[at - 1] == 'e' || text[at - 1] == 'E');
    if (!IsDigit(c) && !IsLetter(c) && c != '.' && !exponent_sign) break;
  }
  return at;
}

}  // namespace

std::optional<uint64_t> IntegerOf(std::string_view text) {
  if (!text.empty() && text.back() == 'U') text.remove_suffix(1);
  int base = 10;
  const std::string_view head = text.substr(0, 2);
  if (head == "0x" || head == "0X") {
    base = 16;
    text.remove_prefix(2);
  } else if (head == "0b" || head == "0B") {
    base = 2;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || error != std::errc() || rest != end) return std::nullopt;
  return value;
}

Lexer::Lexer(std::string_view text) : text_(text) { Advance(); }

Token Lexer::Next() {
  const Token taken = token_;
  Advance();
  return taken;
}

void Lexer::SkipBlank() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (text_.substr(at_, 2) == "/*") {
      const size_t close = text_.find("*/", at_ + 2);
      const size_t end =
          close == std::string_view::npos ? text_.size() : close + 2;
      line_ += static_cast<uint32_t>(
          std::ranges::count(text_.substr(at_, end - at_), '\n'));
      at_ = end;
    } else {
      return;
    }
  }
}

void Lexer::Advance() {
  SkipBlank();
  token_ = {TokenKind::kEnd, {}, line_};
  if (at_ >= text_.size()) return;
  const size_t begin = at_;
  const char c = text_[at_];
  if (BeginsWord(c)) {
    token_.kind = TokenKind::kWord;
    at_ = WordEnd(text_, at_);
  } else if (IsDigit(c)) {
    token_.kind = TokenKind::kNumber;
    at_ = NumberEnd(text_, at_);
  } else if (c == '"') {
    token_.kind = TokenKind::kString;
    const size_t close = text_.find_first_of("\"\n", at_ + 1);
    const bool closed = close != std::string_view::npos && text_[close] == '"';
    at_ = closed ? close + 1 : begin + 1;
    if (!closed) token_.kind = TokenKind::kPunctuation;
  } else {
    token_.kind = TokenKind::kPunctuation;
    ++at_;
  }
  token_.text = text_.substr(begin, at_ - begin);
}

bool Lexer::Accept(char punctuation) {
  if (!Is(punctuation)) return false;
  Advance();
  return true;
}

bool Lexer::AcceptWord(std::string_view word) {
  if (!IsWord(word)) return false;
  Advance();
  return true;
}

Status Lexer::Expect(char punctuation) {
  if (Accept(punctuation)) return OkStatus();
  return Expected(StrCat("'", punctuation, "'"));
}

StatusOr<std::string_view> Lexer::ExpectWord(std::string_view what) {
  if (token_.kind != TokenKind::kWord) return Expected(what);
  return Next().text;
}

size_t CountOperands(Lexer lexer) {
  if (lexer.Is(';')) return 0;
  size_t count = 1;
  int depth = 0;
  while (lexer.peek().kind != TokenKind::kEnd && !lexer.Is(';')) {
    if (lexer.Is('{') || lexer.Is('[')) ++depth;
    if (lexer.Is('}') || lexer.Is(']')) --depth;
    if (lexer.Is(',') && depth == 0) ++count;
    lexer.Next();
  }
  return count;
}

size_t CountBraced(Lexer lexer) {
  if (!lexer.Accept('{')) return 0;
  size_t count = 1;
  while (lexer.peek().kind != TokenKind::kEnd && !lexer.Is('}')) {
    if (lexer.Next().text == ",") ++count;
  }
  return count;
}

StatusOr<uint64_t> Lexer::ExpectInteger(std::string_view what) {
  const bool negative = Accept('-');
  const auto value =
      token_.kind == TokenKind::kNumber ? IntegerOf(token_.text) : std::nullopt;
  if (!value.has_value()) return Expected(what);
  Advance();
  return negative ? 0 - *value : *value;
}

Status Lexer::Expected(std::string_view what) const {
  const std::string found = token_.kind == TokenKind::kEnd
                                ? "the end of the text"
                                : Quote(token_.text.substr(0, 80));
  return ErrorAt(token_.line, StrCat("expected ", what, ", found ", found));
}

Status Lexer::ErrorAt(uint32_t line, std::string_view message) const {
  size_t begin = 0;
  for (uint32_t i = 1; i < line && begin < text_.size(); ++i) {
    begin = std::min(text_.find('\n', begin), text_.size() - 1) + 1;
  }
  const std::string_view rest = text_.substr(begin);
  const std::string_view text =
      StripWhitespace(rest.substr(0, rest.find('\n'))).substr(0, 160);
  return InvalidArgumentError(
      StrCat("PTX line ", line, ": ", message, ", in ", Quote(text)));
}

}  // namespace encore::ptx
