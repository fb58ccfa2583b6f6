// The way of a file of somebody else's through all that reads it, up to a run
// within limits where it says that it is right: for fuzzing and its tests.
//
// A broken promise of what is on the way is a failed check: a status of another
// code than the header says, or without a message; a plan that is run and does
// not verify; a graph that is not its stencil's; bytes that are read and not
// written again.
#ifndef ENCORE_CACHE_TESTING_HOSTILE_LOAD_H_
#define ENCORE_CACHE_TESTING_HOSTILE_LOAD_H_

#include <cstdint>
#include <string>

namespace encore::cache {

// How far a file came.
enum class Reached : uint8_t {
  kNothing,    // it is no container
  kContainer,  // it is no package or no entry
  kContents,   // the plan, or what must agree with it, is refused
  kPlan,       // the program is not loaded: code that is refused, limits
  kRun,        // run, to an error or the end
};

// A package or a recording.
Reached LoadHostilePackage(std::string bytes);

// An entry of a compiled graph, which is recalled as a session does it.
Reached LoadHostileEntry(std::string bytes);

// A container of which every kind of reader of a store takes what it finds.
Reached ReadHostileContainer(std::string bytes);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_TESTING_HOSTILE_LOAD_H_
