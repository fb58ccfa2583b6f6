// Tokens of a PTX text.
//
// Reads ahead by one token; tokens are views into the text, which must outlive
// the lexer. Comments and blanks stand between tokens and are passed over.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_LEXER_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_LEXER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "encore/ir/support/status.h"

namespace encore::ptx {

enum class TokenKind : uint8_t {
  kEnd,
  kWord,         // of letters, digits, _ $ % . and ::, no digit first:
                 // ld.global.u32, .reg, %r1, $L__BB0_2, shared::cta
  kNumber,       // from a digit on: 12, 0x1fU, 1.5, 0f3f800000
  kString,       // with its quotes
  kPunctuation,  // one character
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  uint32_t line = 1;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text);

  const Token& peek() const { return token_; }
  Token Next();

  bool Is(char punctuation) const {
    return token_.kind == TokenKind::kPunctuation &&
           token_.text[0] == punctuation;
  }
  bool IsWord(std::string_view word) const {
    return token_.kind == TokenKind::kWord && token_.text == word;
  }
  // Takes the front token where it is that.
  bool Accept(char punctuation);
  bool AcceptWord(std::string_view word);

  Status Expect(char punctuation);
  StatusOr<std::string_view> ExpectWord(std::string_view what);
  // A number of base 8, 10, 16 or 2, perhaps with a minus before it and a U
  // behind it; as 64 bits.
  StatusOr<uint64_t> ExpectInteger(std::string_view what);

  // InvalidArgument: the line, "expected WHAT, found TOKEN", the line's text.
  Status Expected(std::string_view what) const;
  // As above with a message of its own.
  Status ErrorAt(uint32_t line, std::string_view message) const;

 private:
  void Advance();
  void SkipBlank();

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  Token token_;
};

// What comes next, counted; the lexer is taken by value and stays where it is.
// Operands up to the semicolon, those in braces and brackets as one each:
size_t CountOperands(Lexer lexer);
// Elements of the list in braces; 0 where none begins here.
size_t CountBraced(Lexer lexer);

// The value of a number token that is an integer; nothing where it is none.
std::optional<uint64_t> IntegerOf(std::string_view text);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_LEXER_H_
