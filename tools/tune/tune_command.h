// encore tune --machine: measures this machine.
#ifndef ENCORE_TOOLS_TUNE_TUNE_COMMAND_H_
#define ENCORE_TOOLS_TUNE_TUNE_COMMAND_H_

namespace encore::tools {

// See tools/command.h.
int TuneMain(int argc, char** argv);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_TUNE_TUNE_COMMAND_H_
