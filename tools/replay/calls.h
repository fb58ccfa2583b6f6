// Calls to make of a package, and what became of them.
#ifndef ENCORE_TOOLS_REPLAY_CALLS_H_
#define ENCORE_TOOLS_REPLAY_CALLS_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "encore/cache/package/loaded.h"
#include "encore/cache/package/package.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/replay/profiler.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/tools/json_output.h"
#include "encore/tools/replay/replay_context.h"
#include "encore/tools/replay/replay_file.h"

namespace encore::tools {

// The file's graph on its devices, as the program loads it; what its kernels
// have to say of how they were loaded goes to the log.
StatusOr<std::shared_ptr<const cache::Loaded>> LoadFile(ReplayContext& context,
                                                        const ReplayFile& file);

// The recorded calls, unless --input asks for others; else one call, whose
// missing inputs are generated. InvalidArgument where an input does not fit,
// has an open shape, or is not the package's.
StatusOr<std::vector<cache::Package::Call>> CallsOf(
    const ReplayContext& context, const ReplayFile& file);

struct CallsReport {
  bool ok = true;
  Json calls = Json::array();
  // Outputs of the last call.
  std::vector<Literal> outputs;
  std::string text;
};

// Replays each call and compares its outputs where some are expected.
StatusOr<CallsReport> MakeCalls(const ReplayFlags& flags,
                                const cache::Loaded& loaded,
                                std::span<const cache::Package::Call> calls);

// A replayer with the first call's inputs bound, and what they are bound to.
struct BoundReplayer {
  std::string path;
  std::vector<Literal> inputs;
  std::shared_ptr<const cache::Loaded> loaded;
  std::unique_ptr<runtime::Replayer> replayer;

  // An error names the file and the node.
  Status Replay(runtime::Profiler* profiler = nullptr) const;
};
StatusOr<BoundReplayer> Bind(ReplayContext& context, const ReplayFile& file);

// "package" where the file's own code runs, else where its graph's came from:
// "hit" or "miss".
std::string SourceText(const cache::Loaded& loaded);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_REPLAY_CALLS_H_
