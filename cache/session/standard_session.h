// Encore's own compiler for sessions: the backends that are built in, and a
// store in the user's cache folder.
#ifndef ENCORE_CACHE_SESSION_STANDARD_SESSION_H_
#define ENCORE_CACHE_SESSION_STANDARD_SESSION_H_

#include <cstdint>
#include <span>
#include <string>

#include "encore/backends/backend.h"
#include "encore/backends/options.h"
#include "encore/cache/session/session.h"

namespace encore::cache {

// Compiles with backends::AllBackends() for the target that the options name.
// NotFound, when asked for a target that is not there, names those that are.
Compiler StandardCompiler();
// The same with `backends`, which outlive what is made with it.
Compiler CompilerOf(std::span<const backends::Backend* const> backends);

// Options of a session with the standard compiler. Of `options`, values that no
// backend of such a compile looks at become the defaults, with a line in the
// log (backends::UsedOptions). `folder` is where entries are kept, empty for
// nowhere, and holds at most `max_bytes`; one that cannot be used is logged and
// left out. `log` is the session's and the store's.
SessionOptions StandardSessionOptions(const backends::CompileOptions& options,
                                      const std::string& folder,
                                      uint64_t max_bytes = uint64_t{8} << 30,
                                      Log log = LogToStderr);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_STANDARD_SESSION_H_
