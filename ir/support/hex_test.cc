#include "encore/ir/support/hex.h"

#include <array>

#include "gtest/gtest.h"

namespace encore {
namespace {

TEST(Hex, BytesAsDigitsAndBack) {
  const std::array bytes = {std::byte{0x00}, std::byte{0x7f}, std::byte{0xa5}};
  std::string text = "x";
  AppendHex(&text, bytes);
  EXPECT_EQ(text, "x007fa5");
  std::array<std::byte, 3> read = {};
  EXPECT_EQ(ReadHex("007fa5", read), 6u);
  EXPECT_EQ(read, bytes);
}

TEST(Hex, SaysWhereItIsNone) {
  std::array<std::byte, 3> read = {};
  EXPECT_EQ(ReadHex("00g000", read), 2u);
  EXPECT_EQ(ReadHex("00000G", read), 4u);
  EXPECT_EQ(ReadHex("FF0000", read), 0u);
}

}  // namespace
}  // namespace encore
