#include "encore/ir/support/hex.h"

#include <cstdint>

namespace encore {

void AppendHex(std::string* out, std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  const size_t begin = out->size();
  out->resize(begin + 2 * bytes.size());
  char* to = out->data() + begin;
  for (const std::byte byte : bytes) {
    *to++ = kDigits[static_cast<uint8_t>(byte) >> 4];
    *to++ = kDigits[static_cast<uint8_t>(byte) & 15];
  }
}

size_t ReadHex(std::string_view digits, std::span<std::byte> bytes) {
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int high = HexDigit(digits[i]), low = HexDigit(digits[i + 1]);
    if (high < 0 || low < 0) return i;
    bytes[i / 2] = static_cast<std::byte>(high * 16 + low);
  }
  return digits.size();
}

}  // namespace encore
