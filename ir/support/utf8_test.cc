#include "encore/ir/support/utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace encore {
namespace {

// The bytes of a code point by the standard's definition D92.
std::string Encode(char32_t code) {
  const auto tail = [&](int shift) {
    return static_cast<char>(0x80 | (code >> shift & 0x3f));
  };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xc0 | code >> 6), tail(0)};
  if (code < 0x10000) {
    return {static_cast<char>(0xe0 | code >> 12), tail(6), tail(0)};
  }
  return {static_cast<char>(0xf0 | code >> 18), tail(12), tail(6), tail(0)};
}

TEST(Utf8, EveryCodePointIsReadAndSurrogatesAreNone) {
  for (char32_t code = 0; code < 0x120000; ++code) {
    const std::string bytes = Encode(code);
    const bool valid = code < 0x110000 && (code < 0xd800 || code > 0xdfff);
    const Utf8Character found = FirstUtf8Character(bytes + "x");
    ASSERT_EQ(found.length, valid ? bytes.size() : 0)
        << std::hex << static_cast<uint32_t>(code);
    ASSERT_EQ(static_cast<uint32_t>(found.code),
              static_cast<uint32_t>(valid ? code : 0));
    ASSERT_EQ(IsUtf8(bytes), valid);
    ASSERT_FALSE(bytes.size() > 1 && IsUtf8(bytes.substr(0, bytes.size() - 1)));
  }
}

TEST(Utf8, OverlongFormsAndLooseBytesAreNone) {
  for (const char* text :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf",
        "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80",
        "\xff", "\xc3(", "\xe2\x82"}) {
    EXPECT_EQ(FirstUtf8Character(text).length, 0u);
    EXPECT_FALSE(IsUtf8(text));
  }
  EXPECT_EQ(FirstUtf8Character("").length, 0u);
  EXPECT_TRUE(IsUtf8(""));
}

}  // namespace
}  // namespace encore
