// The `encore` program: finds the verb and hands over.

#include <new>
#include <string>
#include <string_view>

#include "encore/ir/support/strings.h"
#include "encore/tools/commands.h"
#include "encore/tools/signals.h"
#include "encore/tools/terminal.h"

namespace {

std::string Usage() {
  std::string text = "usage: encore COMMAND [ARG]...\n\n";
  for (const encore::tools::Command& command : encore::tools::Commands()) {
    std::string name = command.name;
    name.resize(10, ' ');
    encore::StrAppend(&text, "  ", name, " ", command.summary, "\n");
  }
  return text +
         "\nencore COMMAND --help tells a command's arguments.\n"
         "Exit codes: 0 ok, 1 mismatch, 2 unusable input or arguments, "
         "3 an internal error.\n";
}

// What the user asks for may need more memory than there is.
int Run(const encore::tools::Command& command, int argc, char** argv) {
  try {
    return encore::tools::ExitCodeOfOutput("encore", command.main(argc, argv));
  } catch (const std::bad_alloc&) {
    encore::tools::PrintError(
        encore::StrCat("encore ", command.name, ": out of memory\n"));
    return encore::tools::kExitUnusableInput;
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace std::string_view_literals;
  encore::tools::CleanUpOnSignals();
  const std::string_view verb = argc > 1 ? argv[1] : "help";
  if (verb == "help"sv || verb == "--help"sv || verb == "-h"sv) {
    encore::tools::Print(Usage());
    return encore::tools::ExitCodeOfOutput("encore", encore::tools::kExitOk);
  }
  for (const encore::tools::Command& command : encore::tools::Commands()) {
    if (verb == command.name) return Run(command, argc - 1, argv + 1);
  }
  encore::tools::PrintError(encore::StrCat("encore: no command ",
                                           encore::Quote(verb), "\n", Usage()));
  return encore::tools::kExitUnusableInput;
}
