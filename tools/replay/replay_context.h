// What a replay verb works with: flags, host and threads.
#ifndef ENCORE_TOOLS_REPLAY_REPLAY_CONTEXT_H_
#define ENCORE_TOOLS_REPLAY_REPLAY_CONTEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "encore/runtime/device/thread_pool.h"
#include "encore/tools/json_output.h"
#include "encore/tools/replay/replay_host.h"

namespace encore::tools {

struct ReplayFlags {
  std::vector<std::string> files, inputs;
  LoadRequest load;
  uint64_t seed = 1;
  double relative = 1e-3, absolute = 1e-5;
  int64_t repeat = 100, warmup = 3;
  double seconds = 0;
  std::string baseline, trace, save;
  std::string blobs, output;  // of assemble
  JsonOutput json;
};

struct ReplayContext {
  const ReplayHost& host;
  ReplayFlags& flags;
  runtime::ThreadPool& threads;

  bool quiet() const { return flags.json.on_stdout(); }
};

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_REPLAY_REPLAY_CONTEXT_H_
