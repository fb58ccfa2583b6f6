// `encore egraph`: runs programs of rewrites, rules, checks and extractions.
#ifndef ENCORE_TOOLS_OPT_EGRAPH_COMMAND_H_
#define ENCORE_TOOLS_OPT_EGRAPH_COMMAND_H_

namespace encore::tools {

// Its exit codes differ from those of other verbs: 0 every command succeeded,
// 1 a command failed, 2 the program was rejected before it ran (or the
// arguments), 3 it uses something that is not supported.
int EgraphMain(int argc, char** argv);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_OPT_EGRAPH_COMMAND_H_
