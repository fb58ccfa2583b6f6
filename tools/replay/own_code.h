// What a replay host does that cannot compile.
#ifndef ENCORE_TOOLS_REPLAY_OWN_CODE_H_
#define ENCORE_TOOLS_REPLAY_OWN_CODE_H_

#include <memory>

#include "encore/cache/package/loaded.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/tools/replay/replay_file.h"
#include "encore/tools/replay/replay_host.h"

namespace encore::tools {

// Loads the file's own code. PermissionDenied, with what to do, where it lies
// in no owner-only store and is not trusted; FailedPrecondition where it
// requires what this machine lacks.
StatusOr<std::shared_ptr<const cache::Loaded>> LoadOwnCode(
    const ReplayFile& file, const LoadRequest& request,
    runtime::ThreadPool* threads);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_REPLAY_OWN_CODE_H_
