// A race: processes that read files while this one changes them.
//
// Change i takes the files to state i; what a run gives is the state that it
// read. A run that begins when change `first` is complete and ends when change
// `last` has begun has to give one of the states first to last; an error may
// say that files changed each time that they were read, which takes three
// changes. Of files that are written to in place nothing can be said while they
// are: only runs that met no change are judged.
#ifndef ENCORE_TESTS_TORTURE_RACE_H_
#define ENCORE_TESTS_TORTURE_RACE_H_

#include <cstdint>
#include <functional>
#include <ostream>
#include <span>

#include "encore/ir/support/status.h"

namespace encore::torture {

struct Race {
  // What runs give, by the number of changes made; [0] before the first.
  std::span<const int64_t> states;
  int readers = 8;
  bool in_place = false;
  // Of the pauses between changes.
  uint64_t seed = 0;
  // Makes change `number`, from 1, in this process, and returns when it is
  // complete.
  std::function<void(int number)> change;
  // Runs once, over and over in each of the readers' processes.
  std::function<StatusOr<int64_t>()> read;
};

struct RaceResult {
  int64_t runs = 0;
  // Runs that met no change; that ended in an error which may be; in another
  // one, or in a state that they cannot have read (said on stderr); processes
  // that did not end by themselves.
  int64_t unchanged = 0, refused = 0, wrong = 0, died = 0;
};
std::ostream& operator<<(std::ostream& out, const RaceResult& result);

// Ends once all changes are made. REQUIRES that this process has one thread.
RaceResult RunRace(const Race& race);

}  // namespace encore::torture

#endif  // ENCORE_TESTS_TORTURE_RACE_H_
