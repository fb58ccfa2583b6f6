// encore cache VERB: what is kept on disk.
#ifndef ENCORE_TOOLS_CACHE_CACHE_COMMAND_H_
#define ENCORE_TOOLS_CACHE_CACHE_COMMAND_H_

namespace encore::tools {

// See tools/command.h.
int CacheMain(int argc, char** argv);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_CACHE_CACHE_COMMAND_H_
