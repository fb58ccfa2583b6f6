#include "encore/tests/torture/fault_trials.h"

#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <set>
#include <string>

#include "encore/ir/support/system_calls.h"
#include "encore/ir/testing/faulty_system.h"
#include "gtest/gtest.h"

namespace encore::torture {
namespace {

// Reads the clock, which has no faults, a thousand times, and asks once, at a
// place of its own in each run, whether there is a file; the last error.
int AskAmongMany(int place) {
  int error = 0;
  for (int i = 0; i < 1000; ++i) {
    struct timespec now;
    (void)sys::ClockGetTime(CLOCK_MONOTONIC, &now);
    if (i != place) continue;
    if (sys::Access("/", R_OK) != 0) error = errno;
    char byte;
    if (sys::GetRandom(&byte, 1, 0) != 1) error = errno;
  }
  return error;
}

// A draw of one call in ten thousand takes none of the two as a rule. What is
// interrupted is done again by the layer, and no error.
TEST(FaultTrials, EachFaultOfEachKindComesWhateverIsDrawn) {
  for (const bool lasting : {false, true}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      std::set<int> errors;
      const std::string wrong =
          RunTrials({.restore = [] {},
                     .run =
                         [&] {
                           errors.insert(AskAmongMany(500));
                           return std::string();
                         },
                     .heal = [] { return std::string(); },
                     .lasting = lasting,
                     .one_in = 10'000,
                     .seed = seed});
      EXPECT_EQ(wrong, "");
      EXPECT_EQ(errors, (std::set<int>{0, EIO, EAGAIN}));
    }
  }
  testing::internal::CaptureStdout();
  PrintFaults();
  const std::string faults = testing::internal::GetCapturedStdout();
  for (const char* fault :
       {"Access EIO ", "GetRandom EINTR ", "GetRandom EAGAIN "}) {
    EXPECT_NE(faults.find(fault), std::string::npos) << faults;
  }
}

// Calls that a process makes once, in its first run, come in no trial.
TEST(FaultTrials, WhatIsCalledOnceInAProcessIsNotTried) {
  bool first = true;
  const std::string wrong = RunTrials({.restore = [] {},
                                       .run =
                                           [&] {
                                             if (first) (void)AskAmongMany(3);
                                             first = false;
                                             (void)sys::Access("/", R_OK);
                                             return std::string();
                                           },
                                       .heal = [] { return std::string(); },
                                       .one_in = 10'000});
  EXPECT_EQ(wrong, "");
}

// What cannot be let fail is said, and not passed over.
TEST(FaultTrials, AFaultThatNeverComesIsSaid) {
  int runs = 0;
  const std::string wrong =
      RunTrials({.restore = [] {},
                 .run =
                     [&] {
                       (void)AskAmongMany(runs++ < 2 ? 500 : -1);
                       return std::string();
                     },
                 .heal = [] { return std::string(); },
                 .one_in = 10'000});
  EXPECT_NE(wrong.find("did not come"), std::string::npos) << wrong;
}

// A run that is wrong is said with the fault, also where the draw had none.
TEST(FaultTrials, WhatIsWrongIsSaidWithItsFault) {
  const std::string wrong = RunTrials(
      {.restore = [] {},
       .run = [] { return AskAmongMany(500) == EAGAIN ? "lost" : ""; },
       .heal = [] { return std::string(); },
       .one_in = 10'000});
  EXPECT_NE(wrong.find("EAGAIN: lost"), std::string::npos) << wrong;
}

}  // namespace
}  // namespace encore::torture
