// `encore extract`: DAG extraction from e-graphs in files.
#ifndef ENCORE_TOOLS_OPT_EXTRACT_COMMAND_H_
#define ENCORE_TOOLS_OPT_EXTRACT_COMMAND_H_

namespace encore::tools {

int ExtractMain(int argc, char** argv);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_OPT_EXTRACT_COMMAND_H_
