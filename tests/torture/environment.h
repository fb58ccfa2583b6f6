// What the environment asks of the torture tests.
#ifndef ENCORE_TESTS_TORTURE_ENVIRONMENT_H_
#define ENCORE_TESTS_TORTURE_ENVIRONMENT_H_

#include <cstdint>

namespace encore::torture {

// ENCORE_TORTURE_ROUNDS, or `usual` where it is not set. Ends the program where
// it is set and is no positive number.
int Rounds(int usual);

// What a test draws its chances from: ENCORE_TORTURE_SEED, or one of its own
// where that is not set. Printed, so that the test can be run with it again.
// Ends the program where it is set and is no number of 64 bits.
uint64_t Seed();

}  // namespace encore::torture

#endif  // ENCORE_TESTS_TORTURE_ENVIRONMENT_H_
