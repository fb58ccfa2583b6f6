// The list of verbs.
#ifndef ENCORE_TOOLS_COMMANDS_H_
#define ENCORE_TOOLS_COMMANDS_H_

#include <span>

#include "encore/tools/command.h"

namespace encore::tools {

// Every verb, in the order of the help page.
std::span<const Command> Commands();

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_COMMANDS_H_
