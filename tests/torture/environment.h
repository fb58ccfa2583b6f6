// What the environment asks of the torture tests.
#ifndef ENCORE_TESTS_TORTURE_ENVIRONMENT_H_
#define ENCORE_TESTS_TORTURE_ENVIRONMENT_H_

#include <cstdint>
#include <string>

namespace encore::torture {

// ENCORE_TORTURE_ROUNDS, or `usual` where it is not set. Ends the program where
// it is set and is no positive number.
int Rounds(int usual);

// What a test draws its chances from: ENCORE_TORTURE_SEED, or one of its own
// where that is not set. Printed, so that the test can be run with it again.
// Ends the program where it is set and is no number of 64 bits.
uint64_t Seed();

// Of the calls of a target's runs, one in so many: all of an interpreter's,
// fewer where each run generates code.
struct Sample {
  std::string target;
  uint64_t one_in = 1;
  bool write_behind = false;  // as a session of `encore run` does
};

// The number of the first of them, drawn by Seed.
uint64_t FirstOf(const Sample& sample);

}  // namespace encore::torture

#endif  // ENCORE_TESTS_TORTURE_ENVIRONMENT_H_
