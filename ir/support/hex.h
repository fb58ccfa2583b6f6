// Bytes as hexadecimal digits, lower case, two a byte, the high one first.
#ifndef ENCORE_IR_SUPPORT_HEX_H_
#define ENCORE_IR_SUPPORT_HEX_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace encore {

// What the digit stands for; -1 for any other character.
inline int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

void AppendHex(std::string* out, std::span<const std::byte> bytes);

// Fills `bytes` from `digits`. Returns the place of the first byte that is
// none, else digits.size(). REQUIRES two digits per byte.
size_t ReadHex(std::string_view digits, std::span<std::byte> bytes);

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_HEX_H_
