// encore replay VERB FILE…: look into, check and replay packages.
#ifndef ENCORE_TOOLS_REPLAY_REPLAY_COMMAND_H_
#define ENCORE_TOOLS_REPLAY_REPLAY_COMMAND_H_

namespace encore::tools {

// See tools/command.h.
int ReplayCommandMain(int argc, char** argv);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_REPLAY_REPLAY_COMMAND_H_
