// What differs between the programs that have the replay verbs: `encore`, which
// can compile, and `replay_only`, which cannot.
#ifndef ENCORE_TOOLS_REPLAY_REPLAY_HOST_H_
#define ENCORE_TOOLS_REPLAY_REPLAY_HOST_H_

#include <functional>
#include <memory>
#include <string>

#include "encore/cache/package/loaded.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/tools/machine_flags.h"
#include "encore/tools/replay/replay_file.h"

namespace encore::tools {

struct LoadRequest {
  // Run the file's own code wherever it comes from.
  bool trust = false;
  MachineFlags machine;
};

struct ReplayHost {
  std::string name;  // of the program, for its help and errors
  // The file's compiled graph and weights, ready to replay.
  std::function<StatusOr<std::shared_ptr<const cache::Loaded>>(
      const ReplayFile& file, const LoadRequest& request,
      runtime::ThreadPool* threads)>
      load;
  // A tensor of a file, for --input.
  std::function<StatusOr<Literal>(const std::string& path)> read_tensor;
};

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_REPLAY_REPLAY_HOST_H_
