#include "encore/ir/support/parse_number.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace encore {
namespace {

TEST(ParseNumber, WholeTextsOnly) {
  EXPECT_EQ(ParseNumber<int64_t>("-12"), -12);
  EXPECT_EQ(ParseNumber<double>("1.5e3"), 1500.0);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x", "0x1", "-"}) {
    EXPECT_EQ(ParseNumber<int64_t>(text), std::nullopt) << text;
    EXPECT_EQ(ParseNumber<double>(text), std::nullopt) << text;
  }
}

TEST(ParseNumber, WhatTheTypeHolds) {
  EXPECT_EQ(ParseNumber<int64_t>("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(ParseNumber<int64_t>("9223372036854775808"), std::nullopt);
  EXPECT_EQ(ParseNumber<uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(ParseNumber<float>("1e39"), std::nullopt);
  EXPECT_EQ(ParseNumber<float>("0.1"), 0.1f);
}

}  // namespace
}  // namespace encore
