#include "encore/backends/measurement.h"

#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "gtest/gtest.h"

namespace encore::backends {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::optional<Measurement> Decode(const std::string& bytes) {
  return DecodeMeasurement(std::as_bytes(std::span(bytes)));
}

TEST(Measurement, BytesAndBack) {
  const Measurement measurement{
      {{"tiles", 1e-3, 0}, {"library", kInfinite, 2}}};
  const std::string bytes = EncodeMeasurement(measurement);
  const auto again = Decode(bytes);
  ASSERT_TRUE(again.has_value());
  ASSERT_EQ(again->timings.size(), 2u);
  EXPECT_EQ(again->timings[1].kernel, "library");
  EXPECT_EQ(again->timings[1].seconds, kInfinite);
  EXPECT_EQ(again->timings[1].load_seconds, 2);
  EXPECT_EQ(EncodeMeasurement(*again), bytes);
}

TEST(Measurement, OtherBytesAreNone) {
  const std::string bytes =
      EncodeMeasurement({{{"tiles", 1e-3, 0}, {"loops", 2e-3, 0}}});
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Decode(bytes.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(Decode(bytes + "x").has_value());
  EXPECT_FALSE(Decode(EncodeMeasurement({})).has_value());
  for (const double seconds : {0.0, -1.0, std::nan("")}) {
    EXPECT_FALSE(Decode(EncodeMeasurement({{{"tiles", seconds, 0}}})));
    EXPECT_FALSE(Decode(EncodeMeasurement({{{"tiles", 1, seconds - 1}}})));
  }
}

TEST(Measurement, TheIncumbentLosesToWhatSavesTwoPercent) {
  const auto best = [](double seconds, double load_seconds = 0) {
    return BestOf({{{"a", 1, 0}, {"b", seconds, load_seconds}}}, 100);
  };
  EXPECT_EQ(best(0.97), 1u);
  EXPECT_EQ(best(0.99), 0u);
  EXPECT_EQ(best(1.5), 0u);
  EXPECT_EQ(best(kInfinite), 0u);
  // What it costs to load counts.
  EXPECT_EQ(best(0.9, 9), 1u);
  EXPECT_EQ(best(0.9, 11), 0u);
  // A kernel that takes longer is not taken for its load.
  EXPECT_EQ(BestOf({{{"a", 1, 100}, {"b", 1.1, 0}}}, 100), 0u);
  EXPECT_EQ(BestOf({{{"a", 1, 0}, {"b", 0.9, 0}, {"c", 0.8, 0}}}, 100), 2u);
}

}  // namespace
}  // namespace encore::backends
