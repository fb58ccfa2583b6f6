// The power goes at each call of a cold start, and at each of a warm one; where
// code is generated, at one in so many, as a seed draws. What was not synced is
// lost or not, as a seed draws. The next run is right, and the one after it
// finds all that it kept.
#include "encore/ir/testing/power_cut.h"

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>

#include "encore/tests/torture/environment.h"
#include "encore/tests/torture/scenario.h"
#include "gtest/gtest.h"

namespace encore::torture {
namespace {

namespace fs = std::filesystem;

class PowerCutTest : public testing::TestWithParam<Sample> {
 protected:
  // Whether there was a call of that number to be cut at.
  bool CutAndHeal(uint64_t number, uint64_t seed) {
    const std::string copies = folder_ + "/copies";
    fs::remove_all(copies);
    fs::create_directories(copies);
    PowerCut disk(copies);
    {
      const ScopedSystemCalls scope(&disk);
      disk.CutAt(number);
      EXPECT_FALSE(scenario_.Run().is_wrong);
    }
    const bool cut = disk.calls() > number;
    disk.Lose(seed);
    EXPECT_EQ(scenario_.Heal(), "") << "call " << number << ", seed " << seed;
    return cut;
  }

  const std::string folder_ = testing::TempDir() + "power_cut";
  const Scenario scenario_{folder_ + "/work", GetParam().target};
};

TEST_P(PowerCutTest, OfAColdStart) {
  int cuts = 0;
  for (uint64_t number = FirstOf(GetParam()); !HasFailure();
       number += GetParam().one_in) {
    bool cut = false;
    for (uint64_t seed = 2 * number; seed < 2 * number + 2; ++seed) {
      scenario_.Reset();
      cut |= CutAndHeal(number, seed);
    }
    if (!cut) break;
    cuts += 2;
  }
  std::cout << cuts << " cuts\n";
}

// The package is written anew over the old one, and uses are recorded.
TEST_P(PowerCutTest, OfAWarmStart) {
  int cuts = 0;
  for (uint64_t number = FirstOf(GetParam()); !HasFailure();
       number += GetParam().one_in) {
    scenario_.Reset();
    ASSERT_TRUE(scenario_.Run().ok());
    if (!CutAndHeal(number, number)) break;
    ++cuts;
  }
  std::cout << cuts << " cuts\n";
}

INSTANTIATE_TEST_SUITE_P(Targets, PowerCutTest,
                         testing::Values(Sample{"ref", 1}, Sample{"cpu", 5}),
                         [](const auto& info) { return info.param.target; });

}  // namespace
}  // namespace encore::torture
