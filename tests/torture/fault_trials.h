// Fault trials: something that is done with files is done over and over, each
// time with another call of the system failing on the way.
#ifndef ENCORE_TESTS_TORTURE_FAULT_TRIALS_H_
#define ENCORE_TESTS_TORTURE_FAULT_TRIALS_H_

#include <cstdint>
#include <functional>
#include <string>

namespace encore::torture {

struct FaultTrials {
  // Puts the files into the state that each trial begins with.
  std::function<void()> restore;
  // Does it while a call fails; what was wrong, empty where nothing was.
  std::function<std::string()> run;
  // Does it again, without a fault: what did not heal or was left behind.
  std::function<std::string()> heal;
  // Whether the calls of that kind go on to fail.
  bool lasting = false;
  // Of the calls that `run` makes, one in so many fails in its turn, as `seed`
  // draws, each in every way that it can (FaultsOf). Of each kind of call and
  // each of its faults there is one at least, drawn or not.
  int one_in = 1;
  uint64_t seed = 0;
};

// What is wrong after the first trial where something is: with the call and its
// fault, `run`, `heal`, or a descriptor that stayed open; or which fault never
// came. Empty where all is right. Prints how many trials there were. REQUIRES
// that nothing else of this process makes calls meanwhile.
std::string RunTrials(const FaultTrials& trials);

// Prints a line "fault CALL ERROR TIMES" for each fault that came in this
// process since the last time.
void PrintFaults();

}  // namespace encore::torture

#endif  // ENCORE_TESTS_TORTURE_FAULT_TRIALS_H_
