// `encore opt`: passes over a graph, graph in, graph out.
#ifndef ENCORE_TOOLS_OPT_OPT_COMMAND_H_
#define ENCORE_TOOLS_OPT_OPT_COMMAND_H_

namespace encore::tools {

// See tools/command.h.
int OptMain(int argc, char** argv);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_OPT_OPT_COMMAND_H_
