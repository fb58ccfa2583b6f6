#include "encore/ir/support/utf8.h"

#include <cstdint>

namespace encore {

Utf8Character FirstUtf8Character(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {1, first};
  const size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return {};
  // What the second byte may be; all others are 80..BF.
  uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  char32_t code = first & (0xff >> (length + 1));
  for (size_t i = 1; i < length; ++i, least = 0x80, most = 0xbf) {
    if (byte(i) < least || byte(i) > most) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  return {length, code};
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = FirstUtf8Character(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace encore
