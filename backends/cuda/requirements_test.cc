#include "encore/backends/cuda/requirements.h"

#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/module_file.h"
#include "encore/ir/support/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Check(std::string_view requirement, const Architecture& device,
                  uint32_t driver) {
  const std::vector<std::string> one = {std::string(requirement)};
  const Status status = CheckRequirements(one, device, driver);
  if (!status.ok()) {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status;
  }
  return std::string(Message(status));
}

TEST(Requirements, AreOfTheCodeAlone) {
  EXPECT_THAT(RequirementsOf({8, 0}, 13000),
              ElementsAre("sm_80", "driver=13.0"));
  EXPECT_THAT(RequirementsOf({9, 0, true}, 12080),
              ElementsAre("sm_90a", "driver=12.8"));
}

TEST(Requirements, WhatIsThereSatisfiesThem) {
  for (const uint32_t driver : {13000u, 13010u, 14000u}) {
    for (const Architecture& device :
         {Architecture{8, 0}, Architecture{9, 0}, Architecture{12, 1}}) {
      EXPECT_EQ(
          CheckRequirements(RequirementsOf({8, 0}, 13000), device, driver),
          OkStatus());
    }
  }
  EXPECT_EQ(Check("sm_90a", {9, 0}, 13000), "");
}

TEST(Requirements, ErrorsNameWhatIsNeededAndWhatIsThere) {
  EXPECT_THAT(Check("driver=13.0", {9, 0}, 12090),
              HasSubstr("needs a driver of CUDA 13.0, this machine's is of "
                        "CUDA 12.9"));
  EXPECT_THAT(Check("driver=13.1", {9, 0}, 13000),
              HasSubstr("13.1, this machine's is of CUDA 13.0"));
  EXPECT_EQ(Check("sm_90", {8, 9}, 13000),
            "the program needs sm_90, the device is sm_89");
  EXPECT_EQ(Check("sm_90a", {10, 0}, 13000),
            "the program needs sm_90a, the device is sm_100");
}

// Of a later release, or of none.
TEST(Requirements, UnknownOnesAreNamed) {
  for (const char* text :
       {"cudnn=9", "", "driver=", "driver=13", "driver=13.", "driver=13.0.1",
        "driver=-13.0", "driver=4000000000.0", "driver=13.100", "sm_79"}) {
    EXPECT_EQ(Check(text, {9, 0}, 99990),
              "the program needs " + std::string(text) +
                  ", which this release knows nothing of");
  }
}

}  // namespace
}  // namespace encore::backends::cuda
