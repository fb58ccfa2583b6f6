#include "encore/ir/support/lexer.h"

#include <algorithm>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::text {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Long strings are cut in messages.
constexpr size_t kShown = 40;

}  // namespace

Lexer::Lexer(std::string_view text) : text_(text) { Advance(); }

Token Lexer::Next() {
  Token token = token_;
  Advance();
  return token;
}

bool Lexer::Accept(std::string_view punctuation) {
  if (!Is(punctuation)) return false;
  Advance();
  return true;
}

bool Lexer::AcceptName(std::string_view name) {
  if (!IsName(name)) return false;
  Advance();
  return true;
}

Status Lexer::Expect(std::string_view punctuation) {
  if (Accept(punctuation)) return OkStatus();
  return Expected(StrCat("'", punctuation, "'"));
}

StatusOr<std::string> Lexer::ExpectName(std::string_view what) {
  if (peek().kind != TokenKind::kName) return Expected(what);
  return std::string(Next().text);
}

StatusOr<int64_t> Lexer::ExpectInteger(std::string_view what) {
  const bool negative = Accept("-");
  if (peek().kind != TokenKind::kNumber) return Expected(what);
  const auto value =
      ParseInt64(StrCat(negative ? "-" : "", std::string(peek().text)));
  if (!value) return Expected(StrCat(what, " that fits 64 bits"));
  Advance();
  return *value;
}

StatusOr<std::string> Lexer::ExpectString(std::string_view what) {
  if (peek().kind != TokenKind::kString) return Expected(what);
  auto value = Unquote(peek().text);
  if (!value) return ErrorAt(peek().offset, "invalid escape in a string");
  Advance();
  return *std::move(value);
}

Status Lexer::Expected(std::string_view what) const {
  std::string found;
  if (token_.kind == TokenKind::kEnd) {
    found = "the end of the text";
  } else {
    const std::string_view all =
        text_.substr(token_.offset, token_.text.data() + token_.text.size() -
                                        text_.data() - token_.offset);
    found = Quote(all.substr(0, kShown));
    if (all.size() > kShown) found += "…";
  }
  return ErrorAt(token_.offset, StrCat("expected ", what, ", found ", found));
}

Status Lexer::ErrorAt(size_t offset, std::string_view message) const {
  const std::string_view before = text_.substr(0, offset);
  const size_t line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t newline = before.rfind('\n');
  const size_t column =
      offset - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
  return InvalidArgumentError(StrCat(line, ":", column, ": ", message));
}

bool Lexer::SkipBlank() {
  bool ended = false;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ended |= c == '\n';
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      break;
    }
  }
  return ended;
}

size_t Lexer::NameEnd(size_t at) const {
  while (at < text_.size() && (IsLetter(text_[at]) || IsDigit(text_[at]))) {
    ++at;
  }
  return at;
}

size_t Lexer::StringEnd(size_t at) const {
  for (size_t i = at + 1; i < text_.size() && text_[i] != '\n'; ++i) {
    if (text_[i] == '\\') {
      ++i;
    } else if (text_[i] == '"') {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

void Lexer::Advance() {
  const bool first = at_ == 0;
  const bool begins_line = SkipBlank() || first;
  const size_t begin = at_;
  const auto take = [&](TokenKind kind, size_t from, size_t end) {
    token_ = {kind, text_.substr(from, end - from), begin, begins_line};
    at_ = end;
  };
  if (begin >= text_.size()) return take(TokenKind::kEnd, begin, begin);
  const char c = text_[begin];
  if (c == '%' || c == '@') {
    const size_t from = begin + 1;
    const bool quoted = from < text_.size() && text_[from] == '"';
    const size_t end = quoted ? StringEnd(from) : NameEnd(from);
    if (end == std::string_view::npos || end == from || (c == '@' && !quoted)) {
      return take(TokenKind::kBad, begin, begin + 1);
    }
    return take(c == '%' ? TokenKind::kValue : TokenKind::kOrigin, from, end);
  }
  if (c == '"') {
    const size_t end = StringEnd(begin);
    if (end == std::string_view::npos) {
      return take(TokenKind::kBad, begin, begin + 1);
    }
    return take(TokenKind::kString, begin, end);
  }
  if (IsLetter(c)) return take(TokenKind::kName, begin, NameEnd(begin));
  if (IsDigit(c)) {
    const bool hex = text_.substr(begin, 2) == "0x";
    size_t end = begin;
    while (end < text_.size()) {
      const char d = text_[end];
      const bool exponent_sign =
          !hex && (d == '+' || d == '-') && text_[end - 1] == 'e';
      if (!IsLetter(d) && !IsDigit(d) && d != '.' && !exponent_sign) break;
      ++end;
    }
    return take(TokenKind::kNumber, begin, end);
  }
  if (text_.substr(begin, 2) == "->") {
    return take(TokenKind::kPunctuation, begin, begin + 2);
  }
  constexpr std::string_view kPunctuation = "()[]{}<>,:=+-*";
  take(kPunctuation.find(c) == std::string_view::npos ? TokenKind::kBad
                                                      : TokenKind::kPunctuation,
       begin, begin + 1);
}

}  // namespace encore::text
