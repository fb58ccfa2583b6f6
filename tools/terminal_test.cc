#include "encore/tools/terminal.h"

#include <string>
#include <utility>

#include "encore/ir/support/utf8.h"
#include "gtest/gtest.h"

namespace encore::tools {
namespace {

TEST(Terminal, TextStaysAndControlsAreWrittenOut) {
  const std::pair<const char*, const char*> kCases[] = {
      {"a name, é and 名前\n\tof two lines",
       "a name, é and 名前\n\tof two lines"},
      {"\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"},
      {"over\rwritten\b\x7f", "over\\x0dwritten\\x08\\x7f"},
      {"c1 \xc2\x9b"
       "31m\xc2\x80",
       "c1 \\u009b31m\\u0080"},
      {"\xe2\x80\xae"
       "turned\xe2\x81\xa6",
       "\\u202eturned\\u2066"},
      {"\xe2\x80\xa8line", "\\u2028line"},
      {"cut \xe2\x80", "cut \\xe2\\x80"},
      {"\xff\x9b", "\\xff\\x9b"},
      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
  };
  for (const auto& [text, printed] : kCases) {
    EXPECT_EQ(Printable(text), printed);
  }
  EXPECT_EQ(PrintableName("a\nb\tc"), "a\\x0ab\\x09c");
  EXPECT_EQ(PrintableName(std::string("a\0b", 3)), "a\\x00b");
}

// Every byte, and every character that ECMA-48 and Unicode's bidirectional
// algorithm give a meaning to.
TEST(Terminal, NothingThatATerminalObeysIsLeft) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const int last : {0x80, 0x85, 0x9b, 0x9f}) {
    all += {'\xc2', static_cast<char>(last)};
  }
  for (int last = 0xaa; last <= 0xae; ++last) {
    all += {'\xe2', '\x80', static_cast<char>(last)};
  }
  for (int last = 0xa6; last <= 0xa9; ++last) {
    all += {'\xe2', '\x81', static_cast<char>(last)};
  }
  for (const std::string& text : {Printable(all), PrintableName(all)}) {
    EXPECT_TRUE(IsUtf8(text));
    for (const char c : text) {
      EXPECT_TRUE((c >= ' ' && c < 0x7f) || c == '\n' || c == '\t') << +c;
    }
  }
}

TEST(Terminal, FormatsAreAsPrintfs) {
  testing::internal::CaptureStdout();
  Printf("%s: %5.1f %%, %03d\n", "\x1b]0;title\a", 12.34, 7);
  Printf("%s", std::string(5000, 'x').c_str());
  Print("\n");
  EXPECT_EQ(
      testing::internal::GetCapturedStdout(),
      "\\x1b]0;title\\x07:  12.3 %, 007\n" + std::string(5000, 'x') + "\n");
}

TEST(Terminal, ALogLineIsOneLine) {
  testing::internal::CaptureStderr();
  PrintLog("cannot read a\nencore: all is well\x1b[2K");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "encore: cannot read a\\x0aencore: all is well\\x1b[2K\n");
}

TEST(Terminal, DataStaysAsItIs) {
  testing::internal::CaptureStdout();
  EXPECT_TRUE(WriteData("\x1b\xff\r\n").ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "\x1b\xff\r\n");
}

}  // namespace
}  // namespace encore::tools
