// RandomProgram: programs for differential tests, right in names and sorts.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_PROGRAM_GENERATOR_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_PROGRAM_GENERATOR_H_

#include <cstdint>
#include <string>

namespace encore::opt::program {

// The text of a random small program, the same for the same seed on every
// platform. It has sorts, constructors with columns of all sorts, relations,
// rulesets, rewrites, rules with joins, conditions and computed values,
// schedules, pushes and pops, and prints sizes. Globals that live to the end
// are called $g0, $g1, ... It may fail (panic, overflow) and it may grow
// without bound where it saturates.
std::string RandomProgram(uint64_t seed);

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_PROGRAM_GENERATOR_H_
