// The command line of the replay verbs, for any host.
#ifndef ENCORE_TOOLS_REPLAY_REPLAY_MAIN_H_
#define ENCORE_TOOLS_REPLAY_REPLAY_MAIN_H_

#include "encore/tools/replay/replay_host.h"

namespace encore::tools {

// argv[0] is the name of the group or program; a verb and its arguments follow.
// Returns an exit code of command.h.
int ReplayMain(int argc, char** argv, const ReplayHost& host);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_REPLAY_REPLAY_MAIN_H_
