// encore compile MODEL -o FILE: a model as a package, a recording, or text.
#ifndef ENCORE_TOOLS_COMPILE_COMPILE_COMMAND_H_
#define ENCORE_TOOLS_COMPILE_COMPILE_COMMAND_H_

namespace encore::tools {

// See tools/command.h.
int CompileMain(int argc, char** argv);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_COMPILE_COMPILE_COMMAND_H_
