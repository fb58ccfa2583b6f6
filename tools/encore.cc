// The `encore` program: finds the verb and hands over.

#include <cstdio>
#include <new>
#include <string_view>

#include "encore/tools/commands.h"
#include "encore/tools/signals.h"

namespace {

void PrintUsage(std::FILE* out) {
  std::fprintf(out, "usage: encore COMMAND [ARG]...\n\n");
  for (const encore::tools::Command& command : encore::tools::Commands()) {
    std::fprintf(out, "  %-10s %s\n", command.name, command.summary);
  }
  std::fprintf(out,
               "\nencore COMMAND --help tells a command's arguments.\n"
               "Exit codes: 0 ok, 1 mismatch, 2 unusable input or arguments, "
               "3 a fault of ours.\n");
}

// What the user asks for may need more memory than there is.
int Run(const encore::tools::Command& command, int argc, char** argv) {
  try {
    return encore::tools::ExitCodeOfOutput("encore", command.main(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "encore %s: out of memory\n", command.name);
    return encore::tools::kExitUnusableInput;
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace std::string_view_literals;
  encore::tools::CleanUpOnSignals();
  const std::string_view verb = argc > 1 ? argv[1] : "help";
  if (verb == "help"sv || verb == "--help"sv || verb == "-h"sv) {
    PrintUsage(stdout);
    return encore::tools::ExitCodeOfOutput("encore", encore::tools::kExitOk);
  }
  for (const encore::tools::Command& command : encore::tools::Commands()) {
    if (verb == command.name) return Run(command, argc - 1, argv + 1);
  }
  std::fprintf(stderr, "encore: no command \"%s\"\n", argv[1]);
  PrintUsage(stderr);
  return encore::tools::kExitUnusableInput;
}
