// What every verb of the `encore` program has in common: how it is entered, how
// its command line is read, and what its exit code means.
#ifndef ENCORE_TOOLS_COMMAND_H_
#define ENCORE_TOOLS_COMMAND_H_

#include <cstdint>
#include <optional>

#include "CLI/CLI.hpp"
#include "encore/ir/support/status.h"

namespace encore::tools {

// Exit codes of every verb. `encore egraph` has its own, on its help page.
inline constexpr int kExitOk = 0;
inline constexpr int kExitMismatch = 1;
inline constexpr int kExitUnusableInput = 2;
inline constexpr int kExitOurFault = 3;

// A verb: `main` gets the arguments from the verb's own name on.
struct Command {
  const char* name;
  const char* summary;
  int (*main)(int argc, char** argv);
};

// Reads the command line. Returns the exit code with which to leave at once (0
// after --help, 2 after a bad argument, both with text printed), or nothing to
// go on.
std::optional<int> ParseArguments(CLI::App& app, int argc, char** argv);

// Checks of a flag's text, before it is converted: a finite number of at least
// 0; a whole number from `least` to the largest int64.
CLI::Validator NonNegativeNumber();
CLI::Validator WholeNumber(int64_t least = 0);

// 0, 2 for what the user can be wrong about or the machine lacks (permission,
// space, a device that reads), 3 for the rest.
int ExitCodeOf(const Status& status);

// What to end with after a verb's `code`: 2, with a message, where that is 0
// but standard output did not take all that was printed (a full disk).
int ExitCodeOfOutput(const char* program, int code);

// Prints "encore VERB: message" on standard error, in one line, as terminal.h
// does, and returns ExitCodeOf it.
int Fail(const CLI::App& app, const Status& status);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_COMMAND_H_
