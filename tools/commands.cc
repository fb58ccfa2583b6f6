#include "encore/tools/commands.h"

namespace encore::tools {

std::span<const Command> Commands() {
  // A verb is one line here and a folder with its name's group beside this
  // file.
  static constexpr std::span<const Command> kCommands;
  return kCommands;
}

}  // namespace encore::tools
