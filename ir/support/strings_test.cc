#include "encore/ir/support/strings.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace encore {
namespace {

TEST(Strings, CatPrintsNumbersThatReadBack) {
  EXPECT_EQ(StrCat("a", 1, ' ', 0.1, true, int64_t{-5}), "a1 0.1true-5");
  const double value = std::nextafter(1.0, 2.0);
  EXPECT_EQ(ParseDouble(StrCat(value)), value);
}

TEST(Strings, SplitKeepsEmptyParts) {
  EXPECT_EQ(StrSplit("a,,b", ',').size(), 3u);
  EXPECT_EQ(StrSplit("", ',').size(), 1u);
}

TEST(Strings, NumbersAreWholeTexts) {
  EXPECT_EQ(ParseInt64("12"), 12);
  EXPECT_FALSE(ParseInt64("12 "));
  EXPECT_FALSE(ParseInt64("9223372036854775808"));
  EXPECT_FALSE(ParseInt64(""));
}

TEST(Strings, QuoteRoundTripsEveryByte) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(Unquote(Quote(all)), all);
  EXPECT_FALSE(Unquote("\"a"));
  EXPECT_FALSE(Unquote("\"\\x1\""));
  EXPECT_FALSE(Unquote("\"\\\""));
}

}  // namespace
}  // namespace encore
