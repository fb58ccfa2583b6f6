// encore run [MODEL]…: compile or recall, replay, check, report.
#ifndef ENCORE_TOOLS_RUN_RUN_COMMAND_H_
#define ENCORE_TOOLS_RUN_RUN_COMMAND_H_

namespace encore::tools {

// See tools/command.h.
int RunMain(int argc, char** argv);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_RUN_RUN_COMMAND_H_
