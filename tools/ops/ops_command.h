// `encore ops`: every operator.
#ifndef ENCORE_TOOLS_OPS_OPS_COMMAND_H_
#define ENCORE_TOOLS_OPS_OPS_COMMAND_H_

namespace encore::tools {

int OpsMain(int argc, char** argv);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_OPS_OPS_COMMAND_H_
