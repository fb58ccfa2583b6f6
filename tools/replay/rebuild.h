// Replaying with a compiler at hand.
#ifndef ENCORE_TOOLS_REPLAY_REBUILD_H_
#define ENCORE_TOOLS_REPLAY_REBUILD_H_

#include <memory>

#include "encore/cache/package/loaded.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/tools/replay/replay_file.h"
#include "encore/tools/replay/replay_host.h"

namespace encore::tools {

// LoadOwnCode where that may be done; where the code is not trusted or does not
// run on this machine, the graph in the file, compiled or recalled from the
// cache. Nothing of the file but data reaches the result then.
StatusOr<std::shared_ptr<const cache::Loaded>> LoadOrRebuild(
    const ReplayFile& file, const LoadRequest& request,
    runtime::ThreadPool* threads);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_REPLAY_REBUILD_H_
