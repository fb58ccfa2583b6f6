// UTF-8: characters in bytes that may be none.
//
// Source: The Unicode Standard, table 3-7 (well-formed byte sequences): no
// overlong forms, no surrogates, nothing past U+10FFFF.
#ifndef ENCORE_IR_SUPPORT_UTF8_H_
#define ENCORE_IR_SUPPORT_UTF8_H_

#include <cstddef>
#include <string_view>

namespace encore {

struct Utf8Character {
  size_t length = 0;  // in bytes; 0: there is none
  char32_t code = 0;
};

// The character that `text` begins with; none where it is empty or malformed.
Utf8Character FirstUtf8Character(std::string_view text);

// Whether `text` is a sequence of characters.
bool IsUtf8(std::string_view text);

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_UTF8_H_
