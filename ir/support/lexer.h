// Tokens of the texts that Encore reads: graphs (grammar in ir/README.md) and
// compiled graphs (runtime/plan/compiled_graph_text_parser.h).
//
// The lexer reads ahead by one token and never copies: tokens are views into
// the text, which must outlive it. Positions are 1-based lines and columns
// (bytes).
#ifndef ENCORE_IR_SUPPORT_LEXER_H_
#define ENCORE_IR_SUPPORT_LEXER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "encore/ir/support/status.h"

namespace encore::text {

enum class TokenKind : uint8_t {
  kEnd,
  kName,         // letter or _, then letters, digits and _
  kNumber,       // starts with a digit: 12, 1.5e-3, 0x1f
  kString,       // "…" with C escapes; `text` includes the quotes
  kValue,        // %name, %12, %"…"; `text` is what follows the percent sign
  kOrigin,       // @"…"; `text` is the string
  kPunctuation,  // one of ( ) [ ] { } < > , : = + - *, or ->
  kBad,          // anything else
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  size_t offset = 0;
  bool begins_line = false;  // only blanks and comments stand before it
};

class Lexer {
 public:
  explicit Lexer(std::string_view text);

  // The token at the front.
  const Token& peek() const { return token_; }
  // Takes it.
  Token Next();

  bool Is(std::string_view punctuation) const {
    return token_.kind == TokenKind::kPunctuation && token_.text == punctuation;
  }
  bool IsName(std::string_view name) const {
    return token_.kind == TokenKind::kName && token_.text == name;
  }
  // Takes the front token where it is that; says whether it was.
  bool Accept(std::string_view punctuation);
  bool AcceptName(std::string_view name);

  // Takes a token that must be there; the error names it and what is there
  // instead.
  Status Expect(std::string_view punctuation);
  StatusOr<std::string> ExpectName(std::string_view what);
  // An optional minus sign and an integer.
  StatusOr<int64_t> ExpectInteger(std::string_view what);
  // A string token, unquoted.
  StatusOr<std::string> ExpectString(std::string_view what);

  // InvalidArgument "line:column: expected WHAT, found TOKEN" at the front
  // token.
  Status Expected(std::string_view what) const;
  // InvalidArgument "line:column: message" at `offset`.
  Status ErrorAt(size_t offset, std::string_view message) const;

 private:
  void Advance();
  // Whether a line ends in what is skipped.
  bool SkipBlank();
  size_t NameEnd(size_t at) const;
  // The end of the string that starts at `at`; npos where it has none on its
  // line.
  size_t StringEnd(size_t at) const;

  std::string_view text_;
  size_t at_ = 0;
  Token token_;
};

}  // namespace encore::text

#endif  // ENCORE_IR_SUPPORT_LEXER_H_
