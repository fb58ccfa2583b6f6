// Encore's own compiler for sessions: the backends that are built in, and a
// store in the user's cache folder.
#ifndef ENCORE_CACHE_STANDARD_SESSION_H_
#define ENCORE_CACHE_STANDARD_SESSION_H_

#include <string>

#include "encore/backends/options.h"
#include "encore/cache/session.h"

namespace encore::cache {

// Compiles with backends::AllBackends() for the target that the options name.
// NotFound, when asked for a target that is not there, names those that are.
Compiler StandardCompiler();

// The folder of the user's cache: $ENCORE_CACHE, or
// $XDG_CACHE_HOME/encore/cache, or
// ~/.cache/encore/cache; empty where none of them is set or ENCORE_CACHE is
// "off".
std::string DefaultCacheFolder();

// Options of a session with the standard compiler. `folder` is where entries
// are kept, empty for nowhere; one that cannot be used is logged and left out.
SessionOptions StandardSessionOptions(const backends::CompileOptions& options,
                                      const std::string& folder);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STANDARD_SESSION_H_
